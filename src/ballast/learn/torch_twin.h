#pragma once

#include <memory>

#include "ballast/learn/torch_engine.h"
#include "ballast/nn/network.h"

namespace ballast::learn {

// The network's layers as the operations that LibTorch's modules of the same names consist of. They
// work on the caller's vectors in place, so the twin keeps no copy of them.
std::shared_ptr<const TorchNetwork> make_twin_network(std::shared_ptr<const nn::Network> network);

}  // namespace ballast::learn
