#pragma once

#include "ballast/base/error.h"
#include "ballast/learn/torch_engine.h"

namespace ballast::learn {

// The network in the file, tried out once in both modes on two samples of zeros.
Result<TorchScript> load_script_network(const TorchScriptOptions& options);

}  // namespace ballast::learn
