#include "ballast/learn/torch_model.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "ballast/base/rng.h"
#include "ballast/learn/batches.h"
#include "ballast/learn/network_slots.h"
#include "ballast/learn/pool.h"

namespace ballast::learn {
namespace {

// The purpose of this room's random numbers; part of what a seed means.
constexpr std::uint32_t kForwardPurpose = 0x1EA2'0001;

// Samples evaluated at once: enough to keep LibTorch busy, few enough for tens of megabytes.
constexpr std::size_t kEvaluationBatch = 256;

// Everything a model is made of.
struct Parts {
  std::shared_ptr<const TorchNetwork> network;
  data::Shape input;
  int class_count = 0;
  std::vector<TensorSlot> parameters;
  std::vector<TensorSlot> statistics;
  std::function<std::vector<float>(std::uint64_t seed)> initial_parameters;
  std::vector<float> initial_statistics;
  std::size_t dim = 0;
  std::vector<std::string> layers = {};
};
using PartsPointer = std::shared_ptr<const Parts>;

std::uint64_t forward_seed(const worker::SampleKey& key) {
  return Rng({key.seed, kForwardPurpose, key.worker, key.step}).next_u64();
}

struct Scratch {
  DrawnBatch drawn;
  std::vector<std::int64_t> labels;
};

class TorchSource final : public worker::GradientSource {
 public:
  TorchSource(PartsPointer parts, Batches batches)
      : parts_(std::move(parts)),
        batches_(std::move(batches)),
        pool_([] { return std::make_unique<Scratch>(); }) {}

  std::size_t dim() const noexcept override { return parts_->dim; }
  int class_count() const noexcept override { return parts_->class_count; }
  std::span<const float> initial_statistics() const noexcept override {
    return parts_->initial_statistics;
  }

  Status check_trigger(const worker::Trigger& trigger) const override {
    return batches_.check_trigger(trigger);
  }

  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override {
    const auto scratch = pool_.borrow();
    BALLAST_TRY_STATUS(batches_.draw(sample, scratch->drawn));
    scratch->labels.assign(scratch->drawn.labels.begin(), scratch->drawn.labels.end());
    const TorchBatch batch = {parts_->input, scratch->drawn.images, scratch->labels};
    return parts_->network->gradient(model, batch, forward_seed(sample.key), out, statistics);
  }

 private:
  PartsPointer parts_;
  Batches batches_;
  Pool<Scratch> pool_;
};

class TorchEvaluator final : public worker::Evaluator {
 public:
  TorchEvaluator(PartsPointer parts, std::shared_ptr<const data::Dataset> test)
      : parts_(std::move(parts)), test_(std::move(test)) {}

  Result<worker::Evaluation> evaluate(std::span<const float> model,
                                      std::span<const float> statistics) override {
    TorchSums total;
    for (std::size_t first = 0; first < test_->size(); first += kEvaluationBatch) {
      fill(first, std::min(kEvaluationBatch, test_->size() - first));
      const TorchBatch batch = {parts_->input, drawn_.images, labels_};
      BALLAST_TRY(const TorchSums part, parts_->network->evaluate(model, statistics, batch));
      total.loss += part.loss;
      total.correct += part.correct;
    }
    const auto count = static_cast<double>(test_->size());
    return worker::Evaluation{.loss = total.loss / count,
                              .accuracy = static_cast<double>(total.correct) / count};
  }

 private:
  void fill(std::size_t first, std::size_t count) {
    drawn_.indices.resize(count);
    std::iota(drawn_.indices.begin(), drawn_.indices.end(), static_cast<std::uint32_t>(first));
    drawn_.images.resize(count * parts_->input.size());
    drawn_.labels.resize(count);
    test_->fill_batch(drawn_.indices, drawn_.images, drawn_.labels);
    labels_.assign(drawn_.labels.begin(), drawn_.labels.end());
  }

  PartsPointer parts_;
  std::shared_ptr<const data::Dataset> test_;
  DrawnBatch drawn_;
  std::vector<std::int64_t> labels_;
};

class TorchModel final : public Model {
 public:
  explicit TorchModel(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

  std::size_t dim() const noexcept override { return parts_->dim; }
  std::span<const TensorSlot> parameters() const noexcept override { return parts_->parameters; }
  std::span<const TensorSlot> statistics() const noexcept override { return parts_->statistics; }

  std::vector<std::string> layers() const override { return parts_->layers; }

  std::vector<float> initial_parameters(std::uint64_t seed) const override {
    return parts_->initial_parameters(seed);
  }
  std::vector<float> initial_statistics() const override { return parts_->initial_statistics; }

  Result<std::unique_ptr<worker::GradientSource>> make_source(
      const TrainingData& training) const override {
    BALLAST_TRY(Batches batches, Batches::make(training, parts_->input, parts_->class_count));
    return std::make_unique<TorchSource>(parts_, std::move(batches));
  }

  Result<std::unique_ptr<worker::Evaluator>> make_evaluator(
      std::shared_ptr<const data::Dataset> test) const override {
    BALLAST_TRY_STATUS(check_fit(test, parts_->input, parts_->class_count));
    return std::make_unique<TorchEvaluator>(parts_, std::move(test));
  }

 private:
  PartsPointer parts_;
};

}  // namespace

Result<std::shared_ptr<const Model>> make_torch_twin(nn::Network network) {
  BALLAST_TRY(const TorchEngine* engine, torch_engine());
  const auto shared = std::make_shared<const nn::Network>(std::move(network));
  return std::make_shared<TorchModel>(
      Parts{.network = engine->make_twin(shared),
            .input = input_of(*shared),
            .class_count = class_count_of(*shared),
            .parameters = slots_of(shared->parameters()),
            .statistics = slots_of(shared->statistics()),
            .initial_parameters =
                [shared](std::uint64_t seed) { return initial_parameters_of(*shared, seed); },
            .initial_statistics = initial_statistics_of(*shared),
            .dim = shared->parameter_count(),
            .layers = layer_texts(*shared)});
}

Result<std::shared_ptr<const Model>> load_torch_script(const TorchScriptOptions& options) {
  BALLAST_TRY(const TorchEngine* engine, torch_engine());
  BALLAST_TRY(TorchScript script, engine->load_script(options));
  const std::size_t dim = script.initial_parameters.size();
  return std::make_shared<TorchModel>(
      Parts{.network = std::move(script.network),
            .input = options.input,
            .class_count = options.class_count,
            .parameters = std::move(script.parameters),
            .statistics = std::move(script.statistics),
            .initial_parameters =
                [start = std::move(script.initial_parameters)](std::uint64_t) { return start; },
            .initial_statistics = std::move(script.initial_statistics),
            .dim = dim});
}

}  // namespace ballast::learn
