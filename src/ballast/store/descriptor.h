#pragma once
// The room's name for a descriptor with an owner.

#include "ballast/files/descriptor.h"

namespace ballast::store {

using files::Descriptor;

}  // namespace ballast::store
