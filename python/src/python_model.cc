#include "python/src/python_model.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <utility>

#include "ballast/base/rng.h"
#include "ballast/learn/batches.h"
#include "python/src/gil.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

// The same number as that of LibTorch's engine (learn/torch_model.cc): with the same seed a network
// draws the same dropout masks here and there.
constexpr std::uint32_t kForwardPurpose = 0x1EA2'0001;

// Views of the library's memory, without owners: they are valid during a call.
template <typename T>
nb::object view(std::span<T> values) {
  using Value = std::remove_const_t<T>;
  return nb::ndarray<nb::numpy, Value, nb::ndim<1>>(const_cast<Value*>(values.data()),
                                                    {values.size()}, nb::handle())
      .cast(nb::rv_policy::reference);
}

class PythonSource final : public worker::GradientSource {
 public:
  PythonSource(std::shared_ptr<PythonNetwork> network, std::shared_ptr<Raised> raised,
               learn::Batches batches)
      : network_(std::move(network)), raised_(std::move(raised)), batches_(std::move(batches)) {}

  std::size_t dim() const noexcept override { return network_->initial_parameters.size(); }
  int class_count() const noexcept override { return network_->class_count; }
  std::span<const float> initial_statistics() const noexcept override {
    return network_->initial_statistics;
  }

  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override {
    BALLAST_TRY_STATUS(batches_.draw(sample, drawn_));
    const WithLock lock;
    try {
      return nb::cast<double>(network_->gradient(
          view(model), view(std::span(drawn_.indices)), view(std::span(drawn_.labels)),
          forward_seed(sample.key), view(out), statistics.empty() ? nb::none() : view(statistics)));
    } catch (...) {
      return tl::unexpected(raised_->keep(std::current_exception()));
    }
  }

 private:
  std::shared_ptr<PythonNetwork> network_;
  std::shared_ptr<Raised> raised_;
  learn::Batches batches_;
  learn::DrawnBatch drawn_;
};

class PythonEvaluator final : public worker::Evaluator {
 public:
  PythonEvaluator(std::shared_ptr<PythonNetwork> network, std::shared_ptr<Raised> raised)
      : network_(std::move(network)), raised_(std::move(raised)) {}

  Result<worker::Evaluation> evaluate(std::span<const float> model,
                                      std::span<const float> statistics) override {
    const WithLock lock;
    try {
      const auto [loss, accuracy] =
          nb::cast<std::pair<double, double>>(network_->evaluate(view(model), view(statistics)));
      return worker::Evaluation{.loss = loss, .accuracy = accuracy};
    } catch (...) {
      return tl::unexpected(raised_->keep(std::current_exception()));
    }
  }

 private:
  std::shared_ptr<PythonNetwork> network_;
  std::shared_ptr<Raised> raised_;
};

}  // namespace

std::uint64_t forward_seed(const worker::SampleKey& key) {
  return Rng({key.seed, kForwardPurpose, key.worker, key.step}).next_u64();
}

Error Raised::keep(std::exception_ptr exception) {
  if (first_ == nullptr) first_ = std::move(exception);
  return {ErrorCode::kInterrupted, "a Python callable raised an exception"};
}

void Raised::rethrow_if_any() {
  if (first_ != nullptr) std::rethrow_exception(std::exchange(first_, nullptr));
}

PythonModel::PythonModel(PythonNetwork network, std::shared_ptr<Raised> raised)
    : network_(std::make_shared<PythonNetwork>(std::move(network))), raised_(std::move(raised)) {}

PythonModel::~PythonModel() {
  const WithLock lock;  // the callables belong to Python
  network_.reset();
}

Result<std::unique_ptr<worker::GradientSource>> PythonModel::make_source(
    const learn::TrainingData& training) const {
  BALLAST_TRY(learn::Batches batches, learn::Batches::make(training, training.dataset->shape(),
                                                           training.dataset->class_count()));
  return std::make_unique<PythonSource>(network_, raised_, std::move(batches));
}

Result<std::unique_ptr<worker::Evaluator>> PythonModel::make_evaluator(
    std::shared_ptr<const data::Dataset>) const {
  return std::make_unique<PythonEvaluator>(network_, raised_);
}

Result<std::shared_ptr<const data::Dataset>> stand_in(std::size_t size, std::vector<int> labels,
                                                      int class_count) {
  if (labels.empty()) labels.assign(size, 0);
  BALLAST_TRY(data::Dataset dataset,
              data::Dataset::from_pixels({}, std::vector<std::uint8_t>(size), std::move(labels),
                                         std::max(class_count, 1)));
  return std::make_shared<const data::Dataset>(std::move(dataset));
}

}  // namespace ballast::python
