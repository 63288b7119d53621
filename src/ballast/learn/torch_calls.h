#pragma once
// What every call into LibTorch needs. Only the library behind the seam includes this.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/learn/torch_engine.h"

namespace ballast::learn {

// Keeps LibTorch on the calling thread while it lives. Its number of threads is OpenMP's, which
// belongs to the calling thread and is put back.
class OneThread {
 public:
  OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread();

 private:
  int before_;
};

// A tensor that looks at the values. The memory must outlive it, and constant values must not be
// written to.
at::Tensor view_of(const float* values, std::span<const std::int64_t> shape);
at::Tensor images_of(const TorchBatch& batch);
at::Tensor labels_of(const TorchBatch& batch);

// Loss and hits of a network's outputs.
TorchSums sums_of(const at::Tensor& outputs, const TorchBatch& batch);

// The gradient of the mean loss in each of the leaves; undefined where a leaf is not used.
struct LossAndGradients {
  double loss = 0.0;
  std::vector<at::Tensor> gradients;
};
LossAndGradients differentiate(const at::Tensor& outputs, const TorchBatch& batch,
                               const std::vector<at::Tensor>& leaves);

// The line of an exception's text that says what went wrong.
std::string message_of(const std::exception& exception);

// Calls the body and turns what it throws into an error that begins with `who`.
template <typename Body>
auto without_exceptions(const std::string& who, Body&& body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const std::exception& exception) {
    return invalid_argument(who + ": " + message_of(exception));
  }
}

}  // namespace ballast::learn
