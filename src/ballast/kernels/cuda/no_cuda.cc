// Stands in for the CUDA backend in builds without it, so that no caller needs an #ifdef.

#include "ballast/kernels/backend.h"

namespace ballast::kernels {

Result<std::unique_ptr<Backend>> make_cuda_backend() {
  return unsupported("this build has no CUDA backend; use the device 'cpu'");
}

}  // namespace ballast::kernels
