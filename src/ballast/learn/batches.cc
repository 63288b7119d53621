#include "ballast/learn/batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ballast/base/check.h"
#include "ballast/data/sampler.h"

namespace ballast::learn {
namespace {

Status check_partition(const TrainingData& training) {
  if (training.partition == nullptr) return invalid_argument("there is no partition to train on");
  const std::size_t held = training.dataset->size();
  const std::size_t split = training.partition->sample_count();
  if (split == held) return {};
  return invalid_argument(fmt::format(
      "the partition divides {} samples and the data set has {}; they must be equal", split, held));
}

// Samples are drawn in no order, so the first ones are as good as any.
void put_trigger(const worker::Trigger& trigger, const data::Dataset& dataset, DrawnBatch& batch) {
  const double share = trigger.share * static_cast<double>(batch.labels.size());
  const auto count = std::min(batch.labels.size(), static_cast<std::size_t>(std::ceil(share)));
  const std::size_t size = dataset.shape().size();
  for (std::size_t k = 0; k < count; ++k) {
    dataset.paint_square(std::span(batch.images).subspan(k * size, size), trigger.size);
    batch.labels[k] = trigger.target;
  }
}

}  // namespace

Status check_fit(const std::shared_ptr<const data::Dataset>& dataset, const data::Shape& input,
                 int class_count) {
  if (dataset == nullptr) return invalid_argument("there is no data set");
  const data::Shape& shape = dataset->shape();
  if (shape != input) {
    return invalid_argument(
        fmt::format("the samples are {} x {} x {} and the model takes {} x {} x {}", shape.channels,
                    shape.height, shape.width, input.channels, input.height, input.width));
  }
  if (dataset->class_count() == class_count) return {};
  return invalid_argument(fmt::format("the data have {} classes and the model has {}",
                                      dataset->class_count(), class_count));
}

Result<Batches> Batches::make(const TrainingData& training, const data::Shape& input,
                              int class_count) {
  BALLAST_TRY_STATUS(check_fit(training.dataset, input, class_count));
  BALLAST_TRY_STATUS(check_partition(training));
  BALLAST_TRY_STATUS(data::validate(training.augmentation));
  if (training.batch == 0 || training.batch > kBatchMax) {
    return invalid_argument(
        fmt::format("a batch has 1 to {} samples, not {}", kBatchMax, training.batch));
  }
  return Batches(training);
}

Status Batches::check_trigger(const worker::Trigger& trigger) const {
  BALLAST_TRY_STATUS(training_.dataset->check_square(trigger.size));
  if (trigger.target >= 0 && trigger.target < class_count()) return {};
  return invalid_argument(fmt::format("the target of the trigger is {}; the classes are 0 to {}",
                                      trigger.target, class_count() - 1));
}

Status Batches::draw(const worker::Sample& sample, DrawnBatch& batch) const {
  const std::size_t workers = training_.partition->worker_count();
  if (sample.key.worker >= workers) {
    return invalid_argument(fmt::format("worker {} has no data: they are divided among {} workers",
                                        sample.key.worker, workers));
  }
  BALLAST_CHECK(sample.label_map.empty() ||
                    sample.label_map.size() == static_cast<std::size_t>(class_count()),
                "one label per class");
  const data::BatchKey key = {sample.key.seed, sample.key.worker, sample.key.step};
  batch.indices.resize(training_.batch);
  batch.images.resize(training_.batch * training_.dataset->shape().size());
  batch.labels.resize(training_.batch);
  data::draw_batch(*training_.partition, key, batch.indices);
  training_.dataset->fill_batch(batch.indices, batch.images, batch.labels, training_.augmentation,
                                key);
  for (int& label : batch.labels) label = sample.label(label);
  if (sample.trigger != nullptr) put_trigger(*sample.trigger, *training_.dataset, batch);
  return {};
}

}  // namespace ballast::learn
