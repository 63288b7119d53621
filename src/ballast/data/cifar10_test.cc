#include "ballast/data/cifar10.h"

#include <gtest/gtest.h>

#include "ballast/data/test_files.h"

namespace ballast::data {
namespace {

// One record whose pixel at channel c, row y, column x is a different number for nearby places.
Bytes record(std::uint8_t label, int offset) {
  Bytes bytes = {label};
  for (int i = 0; i < 3 * 32 * 32; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 7 + offset));
  return bytes;
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class Cifar10Test : public testing::Test {
 protected:
  Result<Dataset> read(const std::vector<Bytes>& files) const {
    std::vector<std::filesystem::path> paths;
    for (const Bytes& bytes : files) {
      paths.push_back(folder_.path() / std::to_string(paths.size()));
      write_file(paths.back(), bytes);
    }
    return read_cifar10(paths, {});
  }

 private:
  TemporaryFolder folder_ = make_test_folder();
};

TEST_F(Cifar10Test, ReadsRecordsInFileOrder) {
  const auto dataset = read({record(3, 0) + record(9, 1), record(0, 2)});
  ASSERT_TRUE(dataset) << dataset.error().message;
  ASSERT_EQ(dataset->size(), 3u);
  EXPECT_EQ(dataset->shape(), kCifar10Shape);
  std::vector<float> images(3 * kCifar10Shape.size());
  std::vector<int> labels(3);

  dataset->fill_batch(std::vector<std::uint32_t>{0, 1, 2}, images, labels);

  EXPECT_EQ(labels, (std::vector<int>{3, 9, 0}));
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 3072; ++i) {
      const auto pixel = static_cast<std::uint8_t>(i * 7 + k);
      ASSERT_EQ(images[k * 3072 + i], static_cast<float>(pixel) / 255.0f) << k << ' ' << i;
    }
  }
}

TEST_F(Cifar10Test, RefusesCutFilesForeignLabelsAndEmptyFiles) {
  Bytes cut = record(1, 0) + record(2, 0);
  cut.pop_back();
  EXPECT_FALSE(read({cut}));
  EXPECT_FALSE(read({record(1, 0) + Bytes{0}}));
  EXPECT_FALSE(read({record(10, 0)}));
  EXPECT_FALSE(read({record(1, 0), Bytes{}}));
  EXPECT_FALSE(read({}));
}

TEST_F(Cifar10Test, NamesTheMissingFile) {
  const std::vector<std::filesystem::path> paths = {"/nowhere/data_batch_1.bin"};
  const auto dataset = read_cifar10(paths, {});
  ASSERT_FALSE(dataset);
  EXPECT_EQ(dataset.error().code, ErrorCode::kNotFound);
  EXPECT_NE(dataset.error().message.find("data_batch_1.bin"), std::string::npos);
}

}  // namespace
}  // namespace ballast::data
