#pragma once
// Where the files of a known data set can be had. Nothing a source delivers is trusted: fetch.cc
// checks every file.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/catalog.h"
#include "ballast/data/fetch.h"

namespace ballast::data {

struct Source {
  std::string name;  // for the user
  // Brings the files, each plain or with `.gz` after its name, using `scratch` for whatever it
  // downloads; returns the folder they lie in.
  std::function<Result<std::filesystem::path>(const std::filesystem::path& scratch)> collect;
};

// The sources of a data set, to be tried in this order. They keep references to both arguments.
std::vector<Source> sources_of(const KnownDataset& dataset, const FetchOptions& options);

}  // namespace ballast::data
