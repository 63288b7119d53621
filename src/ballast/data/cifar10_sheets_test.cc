#include "ballast/data/cifar10_sheets.h"

#include <gtest/gtest.h>

#include "ballast/data/cifar10.h"
#include "ballast/data/test_files.h"
#include "ballast/data/test_png.h"

namespace ballast::data {
namespace {

Bytes sheet_pixels(std::size_t rows) {
  Bytes pixels;
  for (std::size_t i = 0; i < rows * 1024 * 3; ++i) {
    pixels.push_back(static_cast<std::uint8_t>(i * 131 >> 3));
  }
  return pixels;
}

class Cifar10SheetsTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  bool accepts_labels(const std::string& text) const {
    write_file(file("labels.json"), Bytes(text.begin(), text.end()));
    return read_label_list(file("labels.json")).has_value();
  }

 private:
  TemporaryFolder folder_ = make_test_folder();
};

TEST_F(Cifar10SheetsTest, PutsEachRowIntoOnePlanarRecord) {
  const Bytes pixels = sheet_pixels(3);
  write_png_file(file("sheet.png"), 1024, 3, pixels);

  const auto records = records_of_sheet(file("sheet.png"), Bytes{4, 0, 9});

  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 3 * kCifar10RecordBytes);
  const Bytes labels = {4, 0, 9};
  for (std::size_t row = 0; row < 3; ++row) {
    const std::uint8_t* record = records->data() + row * kCifar10RecordBytes;
    EXPECT_EQ(record[0], labels[row]);
    for (std::size_t i = 0; i < 1024; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(record[1 + c * 1024 + i], pixels[(row * 1024 + i) * 3 + c]) << row << ' ' << i;
      }
    }
  }
}

TEST_F(Cifar10SheetsTest, RefusesSheetsOfAnotherSize) {
  write_png_file(file("narrow.png"), 512, 2, Bytes(512 * 2 * 3));
  write_png_file(file("short.png"), 1024, 1, Bytes(1024 * 3));
  EXPECT_FALSE(records_of_sheet(file("narrow.png"), Bytes{1, 2}));
  EXPECT_FALSE(records_of_sheet(file("short.png"), Bytes{1, 2}));
  EXPECT_FALSE(records_of_sheet(file("nothing.png"), Bytes{1, 2}));
}

TEST_F(Cifar10SheetsTest, RefusesDamagedSheets) {
  write_png_file(file("whole.png"), 1024, 2, sheet_pixels(2));
  const Bytes whole = read_file(file("whole.png"));
  ASSERT_TRUE(records_of_sheet(file("whole.png"), Bytes{1, 2}));
  for (const double part : {0.0, 0.01, 0.3, 0.9}) {
    const auto length = static_cast<std::ptrdiff_t>(part * static_cast<double>(whole.size()));
    write_file(file("cut.png"), Bytes(whole.begin(), whole.begin() + length));
    EXPECT_FALSE(records_of_sheet(file("cut.png"), Bytes{1, 2})) << length << " bytes";
  }
}

TEST_F(Cifar10SheetsTest, ReadsLabelLists) {
  const std::string text = "[3, 0,9]";
  write_file(file("labels.json"), Bytes(text.begin(), text.end()));
  EXPECT_EQ(read_label_list(file("labels.json")).value(), (Bytes{3, 0, 9}));
}

TEST_F(Cifar10SheetsTest, RefusesWhatIsNotAListOfLabels) {
  EXPECT_TRUE(accepts_labels("[]"));
  EXPECT_FALSE(accepts_labels(""));
  EXPECT_FALSE(accepts_labels("[1, 2"));
  EXPECT_FALSE(accepts_labels("{\"a\": 1}"));
  EXPECT_FALSE(accepts_labels("[10]"));
  EXPECT_FALSE(accepts_labels("[-1]"));
  EXPECT_FALSE(accepts_labels("[1.5]"));
  EXPECT_FALSE(accepts_labels("[\"1\"]"));
  EXPECT_FALSE(accepts_labels("[18446744073709551616]"));
  EXPECT_FALSE(accepts_labels("[" + std::string(1 << 20, ' ') + "1]")) << "too long";
  EXPECT_FALSE(accepts_labels(std::string(100000, '['))) << "deeply nested";
}

}  // namespace
}  // namespace ballast::data
