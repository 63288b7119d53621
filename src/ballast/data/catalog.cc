#include "ballast/data/catalog.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ballast/base/nearest_word.h"
#include "ballast/data/cifar10.h"
#include "ballast/data/idx.h"

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

// Both idx sets: training images and labels, then test images and labels.
constexpr std::array<KnownFile, 4> kMnistFiles = {{
    {"train-images-idx3-ubyte", 47'040'016,
     "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", 60'008,
     "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", 7'840'016,
     "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", 10'008,
     "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}};

constexpr std::array<KnownFile, 4> kFashionMnistFiles = {{
    {"train-images-idx3-ubyte", 47'040'016,
     "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
    {"train-labels-idx1-ubyte", 60'008,
     "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
    {"t10k-images-idx3-ubyte", 7'840'016,
     "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
    {"t10k-labels-idx1-ubyte", 10'008,
     "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
}};

// Five training files, then the test file.
constexpr std::array<KnownFile, 6> kCifar10Files = {{
    {"data_batch_1.bin", 30'730'000,
     "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {"data_batch_2.bin", 30'730'000,
     "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {"data_batch_3.bin", 30'730'000,
     "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {"data_batch_4.bin", 30'730'000,
     "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {"data_batch_5.bin", 30'730'000,
     "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {"test_batch.bin", 30'730'000,
     "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
}};
constexpr std::size_t kCifar10TrainFiles = 5;

// MNIST and CIFAR-10 as in the paper's experiments; the paper does not use Fashion-MNIST, so its
// numbers are the mean and deviation of its training images.
constexpr std::array<float, 1> kMnistMean = {0.1307f};
constexpr std::array<float, 1> kMnistDeviation = {0.3081f};
constexpr std::array<float, 1> kFashionMnistMean = {0.2860f};
constexpr std::array<float, 1> kFashionMnistDeviation = {0.3530f};
constexpr std::array<float, 3> kCifar10Mean = {0.4914f, 0.4822f, 0.4465f};
constexpr std::array<float, 3> kCifar10Deviation = {0.2023f, 0.1994f, 0.2010f};

constexpr std::array<KnownDataset, 3> kDatasets = {{
    {.name = "mnist",
     .summary = "70,000 handwritten digits, 28 x 28, greyscale",
     .format = FileFormat::kIdx,
     .files = kMnistFiles,
     .mean = kMnistMean,
     .deviation = kMnistDeviation,
     .train_augmentation = {}},
    {.name = "fashion-mnist",
     .summary = "70,000 articles of clothing, 28 x 28, greyscale",
     .format = FileFormat::kIdx,
     .files = kFashionMnistFiles,
     .mean = kFashionMnistMean,
     .deviation = kFashionMnistDeviation,
     .train_augmentation = {}},
    {.name = "cifar10",
     .summary = "60,000 photographs of ten kinds of things, 32 x 32, colour",
     .format = FileFormat::kCifar10,
     .files = kCifar10Files,
     .mean = kCifar10Mean,
     .deviation = kCifar10Deviation,
     .train_augmentation = kPaperCifar10Augmentation},
}};

fs::path path_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

Status check_size(const fs::path& path, const KnownFile& file, std::string_view dataset) {
  std::error_code failure;
  const std::uint64_t bytes = fs::file_size(path, failure);
  if (!failure && bytes == file.bytes) return {};
  return invalid_argument(
      fmt::format("{} is damaged (it should have {} bytes): repair it with "
                  "`ballast data get {}`",
                  path.string(), file.bytes, dataset));
}

// The plain file if it is there, else the compressed one.
Result<fs::path> locate(const KnownDataset& known, const fs::path& root, const KnownFile& file) {
  const fs::path plain = root / known.name / file.name;
  const fs::path compressed = plain.string() + ".gz";
  std::error_code ignored;
  if (fs::exists(plain, ignored)) {
    BALLAST_TRY_STATUS(check_size(plain, file, known.name));
    return plain;
  }
  if (known.format == FileFormat::kIdx && fs::exists(compressed, ignored)) return compressed;
  return not_found(fmt::format("{} is missing: get the data set with `ballast data get {}`",
                               plain.string(), known.name));
}

Result<Dataset> load_idx(const KnownDataset& known, const fs::path& root, Split split) {
  const std::size_t first = split == Split::kTrain ? 0 : 2;
  IdxPaths paths;
  BALLAST_TRY(paths.images, locate(known, root, known.files[first]));
  BALLAST_TRY(paths.labels, locate(known, root, known.files[first + 1]));
  return read_idx_dataset(paths, {{known.mean.begin(), known.mean.end()},
                                  {known.deviation.begin(), known.deviation.end()}});
}

Result<Dataset> load_cifar10(const KnownDataset& known, const fs::path& root, Split split) {
  const auto files = split == Split::kTrain ? known.files.first(kCifar10TrainFiles)
                                            : known.files.subspan(kCifar10TrainFiles);
  std::vector<fs::path> paths;
  for (const KnownFile& file : files) {
    BALLAST_TRY(fs::path path, locate(known, root, file));
    paths.push_back(std::move(path));
  }
  return read_cifar10(paths, {{known.mean.begin(), known.mean.end()},
                              {known.deviation.begin(), known.deviation.end()}});
}

}  // namespace

std::span<const KnownDataset> known_datasets() noexcept { return kDatasets; }

Result<const KnownDataset*> find_dataset(std::string_view name) {
  std::array<std::string_view, kDatasets.size()> names;
  for (std::size_t i = 0; i < kDatasets.size(); ++i) {
    if (kDatasets[i].name == name) return &kDatasets[i];
    names[i] = kDatasets[i].name;
  }
  if (const auto meant = nearest_word(name, names)) {
    return not_found(fmt::format("no data set is called '{}'; did you mean '{}'?", name, *meant));
  }
  return not_found(
      fmt::format("no data set is called '{}'; there are {}", name, fmt::join(names, ", ")));
}

Result<fs::path> default_data_folder() {
  if (const fs::path own = path_in("BALLAST_DATA"); !own.empty()) return own;
  // The XDG specification says that a relative path here is to be ignored.
  if (const fs::path cache = path_in("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "ballast";
  }
  if (const fs::path home = path_in("HOME"); !home.empty()) return home / ".cache" / "ballast";
  return not_found("no folder for data sets: set BALLAST_DATA");
}

Result<Dataset> load_dataset(const KnownDataset& known, const fs::path& root, Split split) {
  return known.format == FileFormat::kIdx ? load_idx(known, root, split)
                                          : load_cifar10(known, root, split);
}

}  // namespace ballast::data
