#include "ballast/learn/torch_calls.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include <string_view>

namespace ballast::learn {

OneThread::OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
OneThread::~OneThread() { at::set_num_threads(before_); }

at::Tensor view_of(const float* values, std::span<const std::int64_t> shape) {
  return at::from_blob(const_cast<float*>(values), at::IntArrayRef(shape.data(), shape.size()),
                       at::kFloat);
}

at::Tensor images_of(const TorchBatch& batch) {
  const auto extent = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const std::int64_t shape[] = {extent(batch.labels.size()), extent(batch.shape.channels),
                                extent(batch.shape.height), extent(batch.shape.width)};
  return view_of(batch.images.data(), shape);
}

at::Tensor labels_of(const TorchBatch& batch) {
  return at::from_blob(const_cast<std::int64_t*>(batch.labels.data()),
                       {static_cast<std::int64_t>(batch.labels.size())}, at::kLong);
}

TorchSums sums_of(const at::Tensor& outputs, const TorchBatch& batch) {
  const at::Tensor labels = labels_of(batch);
  const auto loss = at::cross_entropy_loss(outputs.to(at::kDouble), labels, {}, at::Reduction::Sum);
  const auto correct = outputs.argmax(1).eq(labels).sum().item<std::int64_t>();
  return {.loss = loss.item<double>(), .correct = static_cast<std::size_t>(correct)};
}

LossAndGradients differentiate(const at::Tensor& outputs, const TorchBatch& batch,
                               const std::vector<at::Tensor>& leaves) {
  const at::Tensor loss = at::cross_entropy_loss(outputs, labels_of(batch));
  return {.loss = loss.item<double>(),
          .gradients = torch::autograd::grad({loss}, leaves, /*grad_outputs=*/{},
                                             /*retain_graph=*/c10::nullopt,
                                             /*create_graph=*/false, /*allow_unused=*/true)};
}

std::string message_of(const std::exception& exception) {
  const auto* known = dynamic_cast<const c10::Error*>(&exception);
  std::string_view text = known ? known->what_without_backtrace() : exception.what();
  // The interpreter of TorchScript tells where it was first, and the reason last.
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::size_t line_break = text.rfind('\n');
  return std::string(line_break == text.npos ? text : text.substr(line_break + 1));
}

}  // namespace ballast::learn
