#include "ballast/data/catalog.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <optional>

#include "ballast/data/cifar10.h"
#include "ballast/data/test_files.h"

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

// Sets or removes an environment variable until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> old_;
};

fs::path folder_with(const char* own, const char* cache, const char* home) {
  const ScopedVariable own_scope("BALLAST_DATA", own);
  const ScopedVariable cache_scope("XDG_CACHE_HOME", cache);
  const ScopedVariable home_scope("HOME", home);
  return default_data_folder().value_or("none");
}

TEST(Catalog, DefaultFolderFollowsTheThreeVariables) {
  EXPECT_EQ(folder_with("/own", "/cache", "/home/me"), "/own");
  EXPECT_EQ(folder_with("relative", nullptr, nullptr), "relative");
  EXPECT_EQ(folder_with(nullptr, "/cache", "/home/me"), "/cache/ballast");
  EXPECT_EQ(folder_with("", "", "/home/me"), "/home/me/.cache/ballast");
  EXPECT_EQ(folder_with(nullptr, "relative", "/home/me"), "/home/me/.cache/ballast");
  EXPECT_EQ(folder_with(nullptr, nullptr, nullptr), "none");
}

TEST(Catalog, FindsEveryNameAndSuggestsTheNearest) {
  for (const KnownDataset& known : known_datasets()) {
    ASSERT_TRUE(find_dataset(known.name)) << known.name;
    EXPECT_EQ(*find_dataset(known.name), &known);
  }
  EXPECT_NE(find_dataset("x").error().message.find("mnist, fashion-mnist, cifar10"),
            std::string::npos);
  const auto misspelt = find_dataset("cifar-10");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().message.find("did you mean 'cifar10'"), std::string::npos);
}

TEST(Catalog, EveryEntryIsComplete) {
  for (const KnownDataset& known : known_datasets()) {
    SCOPED_TRACE(known.name);
    EXPECT_EQ(known.files.size(), known.format == FileFormat::kIdx ? 4u : 6u);
    EXPECT_EQ(known.mean.size(), known.deviation.size());
    for (const KnownFile& file : known.files) {
      EXPECT_EQ(file.sha256.size(), 64u) << file.name;
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string_view::npos);
    }
  }
}

TEST(Catalog, SaysHowToGetAMissingDataset) {
  const TemporaryFolder root = make_test_folder();
  const auto dataset = load_dataset(**find_dataset("mnist"), root.path(), Split::kTrain);
  ASSERT_FALSE(dataset);
  EXPECT_EQ(dataset.error().code, ErrorCode::kNotFound);
  EXPECT_NE(dataset.error().message.find("ballast data get mnist"), std::string::npos);
}

TEST(Catalog, RefusesAFileOfTheWrongSize) {
  const TemporaryFolder root = make_test_folder();
  fs::create_directory(root.path() / "cifar10");
  write_file(root.path() / "cifar10" / "test_batch.bin", Bytes(kCifar10RecordBytes));
  const auto dataset = load_dataset(**find_dataset("cifar10"), root.path(), Split::kTest);
  ASSERT_FALSE(dataset);
  EXPECT_NE(dataset.error().message.find("damaged"), std::string::npos);
}

TEST(Catalog, LoadsCompressedIdxFilesOfEachSplit) {
  const TemporaryFolder root = make_test_folder();
  const fs::path folder = root.path() / "mnist";
  fs::create_directory(folder);
  const auto write = [&](const std::string& prefix, std::uint8_t label) {
    const std::vector<std::uint32_t> image_extents = {1, 1, 2}, label_extents = {1};
    write_gzip_file(folder / (prefix + "-images-idx3-ubyte.gz"),
                    idx_bytes(image_extents, Bytes{0, 255}));
    write_gzip_file(folder / (prefix + "-labels-idx1-ubyte.gz"),
                    idx_bytes(label_extents, Bytes{label}));
  };
  write("train", 4);
  write("t10k", 6);

  const KnownDataset& mnist = **find_dataset("mnist");
  const auto train = load_dataset(mnist, root.path(), Split::kTrain);
  const auto test = load_dataset(mnist, root.path(), Split::kTest);

  ASSERT_TRUE(train) << train.error().message;
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_EQ(train->labels()[0], 4);
  EXPECT_EQ(test->labels()[0], 6);
  std::vector<float> image(2);
  std::vector<int> label(1);
  train->fill_batch(std::vector<std::uint32_t>{0}, image, label);
  EXPECT_EQ(image[0], (0.0f - 0.1307f) / 0.3081f);
  EXPECT_EQ(image[1], (1.0f - 0.1307f) / 0.3081f);
}

// The normalised training images have mean 0 and the known variance per channel; runs only for the
// data sets that were fetched before.
TEST(Catalog, RealTrainingImagesAreStandardised) {
  const auto root = default_data_folder();
  int loaded = 0;
  for (const KnownDataset& known : known_datasets()) {
    if (!root || !fs::exists(*root / known.name / known.files[0].name)) continue;
    SCOPED_TRACE(known.name);
    const auto dataset = load_dataset(known, *root, Split::kTrain);
    ASSERT_TRUE(dataset) << dataset.error().message;
    ++loaded;
    std::vector<float> image(dataset->shape().size());
    std::vector<int> label(1);
    std::vector<double> sum(known.mean.size()), squares(known.mean.size());
    const std::size_t plane = image.size() / sum.size();
    for (std::uint32_t i = 0; i < dataset->size(); ++i) {
      dataset->fill_batch(std::span(&i, 1), image, label);
      for (std::size_t k = 0; k < image.size(); ++k) {
        sum[k / plane] += image[k];
        squares[k / plane] += image[k] * image[k];
      }
    }
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double count = static_cast<double>(plane * dataset->size());
      EXPECT_NEAR(sum[c] / count, 0.0, 0.001) << "channel " << c;
      // The deviations customary for CIFAR-10 are means over images, below those over pixels.
      const double variance = known.format == FileFormat::kIdx ? 1.0 : c == 2 ? 1.69 : 1.49;
      EXPECT_NEAR(squares[c] / count, variance, 0.01) << "channel " << c;
    }
  }
  if (loaded == 0) GTEST_SKIP() << "no data set was fetched on this machine";
}

}  // namespace
}  // namespace ballast::data
