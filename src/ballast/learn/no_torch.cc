#include "ballast/learn/torch_engine.h"

namespace ballast::learn {

Result<const TorchEngine*> torch_engine() {
  return unsupported(
      "engine = \"torch\" and models in .pt files need LibTorch, which this build does not have; "
      "install the package libtorch-dev and build again");
}

}  // namespace ballast::learn
