#include "ballast/worker/worker.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/ieee_arithmetic.h"
#include "ballast/kernels/finite.h"

namespace ballast::worker {
namespace {

Status check_label_map(std::span<const int> map, int class_count) {
  if (map.empty()) return {};
  const auto is_class = [class_count](int label) { return label >= 0 && label < class_count; };
  if (std::cmp_equal(map.size(), class_count) && std::ranges::all_of(map, is_class)) return {};
  return invalid_argument(
      fmt::format("a label map of {} entries does not fit {} classes", map.size(), class_count));
}

}  // namespace

Result<Worker> Worker::make(const WorkerOptions& options, GradientSource& source,
                            const Behaviour* behaviour) {
  BALLAST_TRY(auto estimator, optim::Estimator<float>::make(options.estimator, source.dim()));
  std::vector<int> label_map;
  std::optional<Trigger> trigger;
  if (behaviour != nullptr) {
    BALLAST_TRY(label_map, behaviour->label_map(source.class_count()));
    BALLAST_TRY_STATUS(behaviour->check_statistics(source.initial_statistics().size()));
    trigger = behaviour->trigger();
  }
  BALLAST_TRY_STATUS(check_label_map(label_map, source.class_count()));
  if (trigger) BALLAST_TRY_STATUS(source.check_trigger(*trigger));
  return Worker(options, source, behaviour, std::move(label_map), trigger, std::move(estimator));
}

Worker::Worker(const WorkerOptions& options, GradientSource& source, const Behaviour* behaviour,
               std::vector<int> label_map, std::optional<Trigger> trigger,
               optim::Estimator<float> estimator)
    : seed_(options.seed),
      id_(options.id),
      source_(&source),
      behaviour_(behaviour),
      label_map_(std::move(label_map)),
      trigger_(trigger),
      estimator_(std::move(estimator)),
      statistics_(source.initial_statistics().begin(), source.initial_statistics().end()),
      gradient_(source.dim()),
      previous_gradient_(source.dim()) {}

Status Worker::check(const ModelView& model) const {
  if (model.values.size() != estimator_.dim()) {
    return invalid_argument(fmt::format("model {} has {} values, not {}", model.version,
                                        model.values.size(), estimator_.dim()));
  }
  if (!kernels::all_finite(model.values)) {
    return invalid_argument(fmt::format("model {} is not finite", model.version));
  }
  return {};
}

// Makes the honest update, and next_statistics_. The statistics move with the model just received
// only: the second gradient looks at the same sample again.
Result<Worker::Computed> Worker::compute(std::span<const float> model, const Sample& sample) {
  next_statistics_ = statistics_;
  BALLAST_TRY(const double loss, source_->gradient(model, sample, gradient_, next_statistics_));
  if (!kernels::all_finite(next_statistics_)) {
    return not_finite("the running statistics are not finite");
  }
  if (estimator_.needs_previous_gradient()) {
    BALLAST_TRY([[maybe_unused]] const double previous_loss,
                source_->gradient(previous_model_, sample, previous_gradient_, {}));
  }
  BALLAST_TRY(const auto values, estimator_.update(gradient_, previous_gradient_));
  return Computed{.loss = loss, .values = values};
}

Result<WorkerUpdate> Worker::on_model(const ModelView& model) {
  const IeeeArithmetic ieee;
  BALLAST_TRY_STATUS(check(model));
  const std::uint64_t sequence = estimator_.updates() + 1;
  const Sample sample{.key = {.seed = seed_, .worker = id_, .step = sequence},
                      .label_map = label_map_,
                      .trigger = trigger_ ? &*trigger_ : nullptr};
  BALLAST_TRY(const Computed computed, compute(model.values, sample));
  previous_model_.assign(model.values.begin(), model.values.end());
  statistics_.swap(next_statistics_);
  return sent(sample.key, model.version, computed);
}

// The honest update as the behaviour leaves it.
WorkerUpdate Worker::sent(const SampleKey& key, std::uint64_t version, const Computed& computed) {
  std::span<const float> values = computed.values;
  std::span<const float> statistics = statistics_;
  if (behaviour_ != nullptr) {
    changed_.assign(values.begin(), values.end());
    behaviour_->change_update(key, changed_);
    values = changed_;
    changed_statistics_ = statistics_;
    behaviour_->change_statistics(changed_statistics_);
    statistics = changed_statistics_;
  }
  return WorkerUpdate{.sequence = key.step,
                      .version = version,
                      .values = values,
                      .statistics = statistics,
                      .loss = computed.loss};
}

WorkerUpdate Worker::last_update(std::uint64_t version, double loss) {
  BALLAST_CHECK(estimator_.updates() > 0, "a worker without updates has no last one");
  return sent({.seed = seed_, .worker = id_, .step = estimator_.updates()}, version,
              {.loss = loss, .values = estimator_.state().direction});
}

WorkerState Worker::state() const {
  return {.estimator = estimator_.state(),
          .previous_model = previous_model_,
          .statistics = statistics_};
}

Status Worker::restore(WorkerState state) {
  const std::size_t model_size = state.estimator.updates == 0 ? 0 : estimator_.dim();
  if (state.previous_model.size() != model_size || state.statistics.size() != statistics_.size()) {
    return invalid_argument("the saved state of the worker is of another model");
  }
  if (!kernels::all_finite(state.previous_model) || !kernels::all_finite(state.statistics)) {
    return invalid_argument("the saved state of the worker is not finite");
  }
  BALLAST_TRY_STATUS(estimator_.restore(std::move(state.estimator)));
  previous_model_ = std::move(state.previous_model);
  statistics_ = std::move(state.statistics);
  return {};
}

}  // namespace ballast::worker
