#include <dlfcn.h>

#include <utility>

#include "ballast/learn/torch_engine.h"
#include "ballast/learn/torch_script.h"
#include "ballast/learn/torch_twin.h"

namespace ballast::learn {
namespace {

class Engine final : public TorchEngine {
 public:
  std::shared_ptr<const TorchNetwork> make_twin(
      std::shared_ptr<const nn::Network> network) const override {
    return make_twin_network(std::move(network));
  }
  Result<TorchScript> load_script(const TorchScriptOptions& options) const override {
    return load_script_network(options);
  }
};

// LibTorch's matrix products are those of whatever BLAS is installed. OpenBLAS has threads of its
// own, which would make gradients of several workers fight for the cores.
void keep_blas_on_one_thread() {
  using SetThreads = void (*)(int);
  const auto set_threads =
      reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set_threads != nullptr) set_threads(1);
}

}  // namespace
}  // namespace ballast::learn

extern "C" __attribute__((visibility("default"))) const ballast::learn::TorchEngine*
ballast_torch_engine(int version) {
  static const ballast::learn::Engine engine;
  if (version != ballast::learn::kTorchSeamVersion) return nullptr;
  ballast::learn::keep_blas_on_one_thread();
  return &engine;
}
