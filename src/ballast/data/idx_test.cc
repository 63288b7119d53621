#include "ballast/data/idx.h"

#include <gtest/gtest.h>

#include "ballast/data/test_files.h"

namespace ballast::data {
namespace {

const std::vector<std::uint32_t> kImageExtents = {2, 2, 3};
const Bytes kPixels = {0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100};

class IdxTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  IdxPaths write_pair(const Bytes& images, const Bytes& labels) const {
    write_file(file("images"), images);
    write_file(file("labels"), labels);
    return {.images = file("images"), .labels = file("labels")};
  }

  Result<IdxArray> read(const Bytes& bytes) const {
    write_file(file("array"), bytes);
    return read_idx(file("array"));
  }

 private:
  TemporaryFolder folder_ = make_test_folder();
};

TEST_F(IdxTest, ReadsPlainFiles) {
  const auto array = read(idx_bytes(kImageExtents, kPixels));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->extents, kImageExtents);
  EXPECT_EQ(array->values, kPixels);
}

TEST_F(IdxTest, ReadsGzipFiles) {
  write_gzip_file(file("array.gz"), idx_bytes(kImageExtents, kPixels));
  const auto array = read_idx(file("array.gz"));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->values, kPixels);
}

TEST_F(IdxTest, JoinsImagesAndLabels) {
  const std::vector<std::uint32_t> label_extents = {2};
  const auto dataset = read_idx_dataset(
      write_pair(idx_bytes(kImageExtents, kPixels), idx_bytes(label_extents, Bytes{7, 0})),
      {{0.5f}, {0.25f}});
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ(dataset->shape(), (Shape{.channels = 1, .height = 2, .width = 3}));
  std::vector<float> images(6);
  std::vector<int> labels(1);

  dataset->fill_batch(std::vector<std::uint32_t>{0}, images, labels);

  EXPECT_EQ(labels[0], 7);
  EXPECT_EQ(images[0], -2.0f);
  EXPECT_EQ(images[1], 2.0f);
}

TEST_F(IdxTest, RefusesPairsThatDoNotMatch) {
  const Bytes images = idx_bytes(kImageExtents, kPixels);
  const auto refuses = [&](const Bytes& labels) {
    return !read_idx_dataset(write_pair(images, labels), {}).has_value();
  };
  EXPECT_FALSE(refuses(idx_bytes(std::vector<std::uint32_t>{2}, Bytes{1, 2})));
  EXPECT_TRUE(refuses(idx_bytes(std::vector<std::uint32_t>{3}, Bytes{1, 2, 3}))) << "three labels";
  EXPECT_TRUE(refuses(idx_bytes(std::vector<std::uint32_t>{2}, Bytes{1, 10}))) << "no such class";
  EXPECT_TRUE(refuses(idx_bytes(std::vector<std::uint32_t>{2, 1}, Bytes{1, 2}))) << "two extents";
  EXPECT_TRUE(refuses(images)) << "images for labels";
}

TEST_F(IdxTest, NamesTheMissingFile) {
  const auto array = read_idx(file("nothing"));
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, ErrorCode::kNotFound);
  EXPECT_NE(array.error().message.find("nothing"), std::string::npos);
}

TEST_F(IdxTest, RefusesEveryTruncation) {
  const Bytes whole = idx_bytes(kImageExtents, kPixels);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))))
        << "cut to " << length << " bytes";
  }
}

TEST_F(IdxTest, RefusesEveryTruncationOfAGzipFile) {
  write_gzip_file(file("whole.gz"), idx_bytes(kImageExtents, kPixels));
  const Bytes whole = read_file(file("whole.gz"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))))
        << "cut to " << length << " bytes";
  }
}

TEST_F(IdxTest, RefusesAGzipFileWithAFlippedContentBit) {
  write_gzip_file(file("whole.gz"), idx_bytes(kImageExtents, kPixels));
  const Bytes whole = read_file(file("whole.gz"));
  for (std::size_t position = 10; position < whole.size(); ++position) {
    Bytes damaged = whole;
    damaged[position] ^= 0x10;
    EXPECT_FALSE(read(damaged)) << "byte " << position;
  }
}

TEST_F(IdxTest, RefusesTrailingBytesAndForeignHeaders) {
  Bytes longer = idx_bytes(kImageExtents, kPixels);
  longer.push_back(0);
  EXPECT_FALSE(read(longer));
  EXPECT_FALSE(read({0, 1, 8, 1, 0, 0, 0, 1, 5})) << "magic";
  EXPECT_FALSE(read({0, 0, 13, 1, 0, 0, 0, 1, 5, 5, 5, 5})) << "floats";
  EXPECT_FALSE(read({0, 0, 8, 0})) << "no extents";
  EXPECT_FALSE(read({0, 0, 8, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5})) << "four";
}

// 2^96 values, 2^31 values in a plain file, 2^31 values in a gzip file: none may be set aside.
TEST_F(IdxTest, RefusesSizesTheFileCannotHold) {
  constexpr std::uint32_t kHuge = 0xFFFF'FFFF;
  EXPECT_FALSE(read(idx_bytes(std::vector<std::uint32_t>{kHuge, kHuge, kHuge}, kPixels)));
  EXPECT_FALSE(read(idx_bytes(std::vector<std::uint32_t>{0x8000'0000}, kPixels)));
  write_gzip_file(file("huge.gz"), idx_bytes(std::vector<std::uint32_t>{0x8000'0000}, kPixels));
  const auto array = read_idx(file("huge.gz"));
  ASSERT_FALSE(array);
  EXPECT_NE(array.error().message.find("promises more data"), std::string::npos);
}

}  // namespace
}  // namespace ballast::data
