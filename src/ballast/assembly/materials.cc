#include "ballast/assembly/materials.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/assembly/own_data.h"
#include "ballast/data/catalog.h"
#include "ballast/learn/registry.h"

namespace ballast::assembly {
namespace {

using std::filesystem::path;

std::string data_name(const RunSpec& run) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", run.data, run.data_dir.string(),
                     run.train_images.string(), run.train_labels.string(), run.test_images.string(),
                     run.test_labels.string());
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
    place->second = std::move(*loaded);
  }
  return place->second;
}

}  // namespace ballast::assembly
