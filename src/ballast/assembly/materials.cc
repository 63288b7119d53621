#include "ballast/assembly/materials.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/assembly/own_data.h"
#include "ballast/data/catalog.h"
#include "ballast/data/partition.h"
#include "ballast/learn/registry.h"

namespace ballast::assembly {
namespace {

using std::filesystem::path;

std::string data_name(const RunSpec& run) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", run.data, run.data_dir.string(),
                     run.train_images.string(), run.train_labels.string(), run.test_images.string(),
                     run.test_labels.string(), run.validation_samples);
}

std::shared_ptr<const data::Dataset> share(data::Dataset dataset) {
  return std::make_shared<const data::Dataset>(std::move(dataset));
}

Result<DataPair> load_known(const RunSpec& run) {
  BALLAST_TRY(const data::KnownDataset* const known, data::find_dataset(run.data));
  path root = run.data_dir;
  if (root.empty()) {
    BALLAST_TRY(root, data::default_data_folder());
  }
  BALLAST_TRY(auto train, data::load_dataset(*known, root, data::Split::kTrain));
  BALLAST_TRY(auto test, data::load_dataset(*known, root, data::Split::kTest));
  return DataPair{.train = share(std::move(train)),
                  .test = share(std::move(test)),
                  .augmentation = known->train_augmentation};
}

Result<DataPair> load_files(const RunSpec& run) {
  BALLAST_TRY(auto own, load_own_data({run.train_images, run.train_labels},
                                      {run.test_images, run.test_labels}));
  return DataPair{
      .train = share(std::move(own.train)), .test = share(std::move(own.test)), .augmentation = {}};
}

// The same samples whatever the run's seed, so that runs can be compared. The test set takes no
// part: what is chosen by such runs has not seen it.
Result<DataPair> with_validation(const DataPair& data, std::size_t count) {
  constexpr std::uint64_t kSplitSeed = 0;
  BALLAST_TRY(const auto whole, data::Partition::shared(data.train->size(), 1));
  auto split = whole.held_out(count, kSplitSeed);
  if (!split) {
    return invalid_argument(fmt::format("validation_samples = {}: the training set has {} samples",
                                        count, data.train->size()));
  }
  const auto part = [&](std::size_t owner) {
    std::vector<std::uint32_t> samples(split->size(owner));
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = split->sample(owner, i);
    return share(data.train->subset(samples));
  };
  return DataPair{.train = part(0), .test = part(1), .augmentation = data.augmentation};
}

// Why a model must have so many classes: a wrong label is found by its sample.
std::string classes_text(const data::Dataset& train) {
  const auto labels = train.labels();
  const auto largest = std::ranges::max_element(labels);
  return fmt::format("{} classes, since label {} stands at sample {} of the training data",
                     train.class_count(), *largest, largest - labels.begin());
}

}  // namespace

Result<Material> Materials::get(const RunSpec& run) {
  const std::lock_guard lock(mutex_);
  BALLAST_TRY(DataPair data, get_data(run));
  const std::string name = fmt::format("{}\n{}\n{}\n{}", data_name(run), run.model,
                                       static_cast<int>(run.engine), run.hidden);
  auto& model = models_[name];
  if (model == nullptr) {
    auto made = learn::make_model({
        .name = run.model,
        .engine = run.engine,
        .input = data.train->shape(),
        .class_count = data.train->class_count(),
        .hidden = run.hidden,
    });
    if (!made && run.data == kDataFromFiles) {
      made.error().message += fmt::format(" (there are {})", classes_text(*data.train));
    }
    BALLAST_TRY(model, std::move(made));
  }
  return Material{std::move(data), model};
}

// Requires: the lock is held.
Result<DataPair> Materials::get_data(const RunSpec& run) {
  const auto [place, is_new] = data_.try_emplace(data_name(run));
  if (is_new) {
    auto loaded = run.data == kDataFromFiles ? load_files(run) : load_known(run);
    if (!loaded) {
      data_.erase(place);
      return tl::unexpected(std::move(loaded).error());
    }
    if (run.validation_samples > 0) {
      loaded = with_validation(*loaded, run.validation_samples);
      if (!loaded) data_.erase(place);
      BALLAST_TRY_STATUS(loaded);
    }
    place->second = std::move(*loaded);
  }
  return place->second;
}

}  // namespace ballast::assembly
