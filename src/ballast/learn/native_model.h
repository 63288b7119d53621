#pragma once
// A network computed by nn/.

#include <memory>

#include "ballast/learn/model.h"
#include "ballast/nn/network.h"

namespace ballast::learn {

// Its sources may be called from several threads at once: each call borrows its memory. A call
// allocates only while more calls run at once than ever before.
// Its evaluators keep the test images as floats.
std::shared_ptr<const Model> make_native_model(nn::Network network);

}  // namespace ballast::learn
