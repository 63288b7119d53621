#pragma once
// What runs are made of and may share: data sets and models, each loaded once.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ballast/assembly/run_spec.h"
#include "ballast/base/error.h"
#include "ballast/data/augment.h"
#include "ballast/data/dataset.h"
#include "ballast/learn/model.h"

namespace ballast::assembly {

struct DataPair {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Dataset> test;
  data::Augmentation augmentation = {};  // what the training set is known to be augmented by
};

struct Material {
  DataPair data;
  std::shared_ptr<const learn::Model> model;
};

// Thread-safety: any number of threads.
class Materials {
 public:
  // The data and the model that the run names; an error says what to do about missing ones.
  // Requires: a resolved and valid run.
  Result<Material> get(const RunSpec& run);

 private:
  Result<DataPair> get_data(const RunSpec& run);

  std::mutex mutex_;
  std::map<std::string, DataPair> data_;
  std::map<std::string, std::shared_ptr<const learn::Model>> models_;
};

}  // namespace ballast::assembly
