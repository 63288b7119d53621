#include "ballast/learn/batches.h"

#include <fmt/core.h>

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
  return {};
}

}  // namespace ballast::learn
