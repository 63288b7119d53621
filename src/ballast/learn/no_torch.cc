#include "ballast/learn/torch_model.h"

namespace ballast::learn {

Result<std::shared_ptr<const Model>> make_torch_twin(nn::Network) {
  return unsupported(
      "engine = \"torch\" needs LibTorch, which this build does not have; install libtorch-dev and "
      "build again, or set engine = \"native\"");
}

}  // namespace ballast::learn
