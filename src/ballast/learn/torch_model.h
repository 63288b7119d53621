#pragma once
// Models computed by LibTorch. A build without it has the same functions, which say so.

#include <memory>
#include <string>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"
#include "ballast/learn/model.h"
#include "ballast/nn/network.h"

namespace ballast::learn {

// The slow twin of a native model: the same network, parameters, batches and statistics.
Result<std::shared_ptr<const Model>> make_torch_twin(nn::Network network);

}  // namespace ballast::learn
