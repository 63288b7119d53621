#pragma once
// Private to simulate/: file systems that a store uses wrongly, for mutants.h.

#include <memory>

#include "ballast/store/file_system.h"

namespace ballast::simulate {

std::unique_ptr<store::FileSystem> without_flush(store::FileSystem& disk);
std::unique_ptr<store::FileSystem> without_folder_flush(store::FileSystem& disk);

}  // namespace ballast::simulate
