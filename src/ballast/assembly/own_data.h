#pragma once
// A user's own data set out of array files.

#include <filesystem>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"

namespace ballast::assembly {

struct ArrayPair {
  std::filesystem::path images;
  std::filesystem::path labels;
};

struct OwnData {
  data::Dataset train;
  data::Dataset test;
};

// Images are samples x channels x height x width, samples x height x width (one channel) or
// samples x features; bytes are pixels from 0 to 255, anything else is taken as it is. Labels are
// whole numbers from 0, one per sample; the training labels say how many classes there are. Refuses
// files that do not fit each other and values that are not finite, naming the file, the sample and
// where in it. docs/own-data.md is the user's page.
Result<OwnData> load_own_data(const ArrayPair& train, const ArrayPair& test);

}  // namespace ballast::assembly
