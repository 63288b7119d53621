#include "ballast/learn/native_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/learn/batches.h"
#include "ballast/learn/network_slots.h"
#include "ballast/learn/pool.h"
#include "ballast/nn/gradient.h"

namespace ballast::learn {
namespace {

using NetworkPointer = std::shared_ptr<const nn::Network>;

std::uint8_t to_byte(int label) { return static_cast<std::uint8_t>(label); }

// What one gradient is computed in.
struct Scratch {
  DrawnBatch drawn;
  std::vector<std::uint8_t> labels;
  nn::NetworkWorkspace workspace;
};

class NativeSource final : public worker::GradientSource {
 public:
  NativeSource(NetworkPointer network, Batches batches)
      : network_(std::move(network)),
        batches_(std::move(batches)),
        initial_statistics_(initial_statistics_of(*network_)),
        pool_([] { return std::make_unique<Scratch>(); }) {}

  std::size_t dim() const noexcept override { return network_->parameter_count(); }
  int class_count() const noexcept override { return batches_.class_count(); }
  std::span<const float> initial_statistics() const noexcept override {
    return initial_statistics_;
  }

  Status check_trigger(const worker::Trigger& trigger) const override {
    return batches_.check_trigger(trigger);
  }

  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override {
    const auto scratch = pool_.borrow();
    DrawnBatch& drawn = scratch->drawn;
    BALLAST_TRY_STATUS(batches_.draw(sample, drawn));
    scratch->labels.resize(drawn.labels.size());
    std::ranges::transform(drawn.labels, scratch->labels.begin(), to_byte);
    return nn::gradient(*network_, model, {drawn.images, scratch->labels}, out, statistics,
                        scratch->workspace);
  }

 private:
  NetworkPointer network_;
  Batches batches_;
  std::vector<float> initial_statistics_;
  Pool<Scratch> pool_;
};

class NativeEvaluator final : public worker::Evaluator {
 public:
  NativeEvaluator(NetworkPointer network, const data::Dataset& test)
      : network_(std::move(network)),
        images_(test.size() * test.shape().size()),
        labels_(test.size()) {
    std::vector<std::uint32_t> indices(test.size());
    std::iota(indices.begin(), indices.end(), 0u);
    std::vector<int> classes(test.size());
    test.fill_batch(indices, images_, classes);
    std::ranges::transform(classes, labels_.begin(), to_byte);
  }

  Result<worker::Evaluation> evaluate(std::span<const float> model,
                                      std::span<const float> statistics) override {
    const nn::NetworkEvaluation sums =
        nn::evaluate(*network_, model, statistics, {images_, labels_}, workspace_);
    const auto count = static_cast<double>(labels_.size());
    return worker::Evaluation{.loss = sums.loss_sum / count,
                              .accuracy = static_cast<double>(sums.correct) / count};
  }

 private:
  NetworkPointer network_;
  std::vector<float> images_;
  std::vector<std::uint8_t> labels_;
  nn::NetworkWorkspace workspace_;
};

class NativeModel final : public Model {
 public:
  explicit NativeModel(nn::Network network)
      : network_(std::make_shared<const nn::Network>(std::move(network))),
        parameters_(slots_of(network_->parameters())),
        statistics_(slots_of(network_->statistics())) {}

  std::size_t dim() const noexcept override { return network_->parameter_count(); }
  std::span<const TensorSlot> parameters() const noexcept override { return parameters_; }
  std::span<const TensorSlot> statistics() const noexcept override { return statistics_; }

  std::vector<std::string> layers() const override { return layer_texts(*network_); }

  std::vector<float> initial_parameters(std::uint64_t seed) const override {
    return initial_parameters_of(*network_, seed);
  }
  std::vector<float> initial_statistics() const override {
    return initial_statistics_of(*network_);
  }

  Result<std::unique_ptr<worker::GradientSource>> make_source(
      const TrainingData& training) const override {
    BALLAST_TRY(Batches batches,
                Batches::make(training, input_of(*network_), class_count_of(*network_)));
    return std::make_unique<NativeSource>(network_, std::move(batches));
  }

  Result<std::unique_ptr<worker::Evaluator>> make_evaluator(
      std::shared_ptr<const data::Dataset> test) const override {
    BALLAST_TRY_STATUS(check_fit(test, input_of(*network_), class_count_of(*network_)));
    return std::make_unique<NativeEvaluator>(network_, *test);
  }

 private:
  NetworkPointer network_;
  std::vector<TensorSlot> parameters_;
  std::vector<TensorSlot> statistics_;
};

}  // namespace

std::shared_ptr<const Model> make_native_model(nn::Network network) {
  return std::make_shared<NativeModel>(std::move(network));
}

}  // namespace ballast::learn
