#include "ballast/files/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "ballast/base/rng.h"
#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Files written by NumPy 1.24.
// numpy.array([[1, 2, 3], [4, 5, 6.5]], 'float32'), in C and in Fortran order
constexpr std::string_view kMatrix =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMp"
    "LCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAIA/"
    "AAAAQAAAQEAAAIBAAACgQAAA0EA=";
constexpr std::string_view kFortranMatrix =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBUcnVlLCAnc2hhcGUnOiAoMiwgMyks"
    "IH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAIA/"
    "AACAQAAAAEAAAKBAAABAQAAA0EA=";
// numpy.array([1, -2, 3], '>i8')
constexpr std::string_view kBigEndian =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPmk4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsKSwg"
    "fSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAA"
    "AAAAAf/////////+AAAAAAAAAAM=";
// numpy.array([1, -0.5, 65504], 'float16')
constexpr std::string_view kHalf =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGYyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsKSwg"
    "fSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAPAC4"
    "/3s=";
// numpy.array([True, False, True])
constexpr std::string_view kBooleans =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnfGIxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsKSwg"
    "fSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoBAAE=";
// numpy.array([1.5]) in version 2.0 and numpy.array(2.5) in version 3.0
constexpr std::string_view kVersion2 =
    "k05VTVBZAgB0AAAAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMSwp"
    "LCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAA"
    "AAD4Pw==";
constexpr std::string_view kVersion3 =
    "k05VTVBZAwB0AAAAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoKSwg"
    "fSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAA"
    "AAAEQA==";
// numpy.array([(1, 2.0)], [('a', '<i4'), ('b', '<f8')])
constexpr std::string_view kRecords =
    "k05VTVBZAQB2AHsnZGVzY3InOiBbKCdhJywgJzxpNCcpLCAoJ2InLCAnPGY4JyldLCAnZm9ydHJhbl9vcmRlcic6"
    "IEZhbHNlLCAnc2hhcGUnOiAoMSwpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoBAAAAAAAA"
    "AAAAAEA=";

Result<Array> parse(std::string_view text) { return parse_npy(std::as_bytes(std::span(text))); }

Array parsed(std::string_view text) {
  auto array = parse(text);
  EXPECT_TRUE(array.has_value()) << array.error().message;
  return array.value_or(Array{});
}

// A version 1.0 file by hand.
std::string with_header(std::string_view header, std::string_view data) {
  const std::string length = {static_cast<char>(header.size() & 0xFF),
                              static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + std::string(header) + std::string(data);
}

std::string with_shape(std::string_view shape, std::string_view data) {
  return with_header(
      "{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + "}", data);
}

TEST(ParseNpy, ReadsAMatrix) {
  const Array array = parsed(from_base64(kMatrix));
  EXPECT_EQ(array.shape, (ArrayShape{2, 3}));
  EXPECT_EQ(values_of<float>(array), (std::vector<float>{1, 2, 3, 4, 5, 6.5}));
}

TEST(ParseNpy, TransposesFortranOrder) {
  const Array array = parsed(from_base64(kFortranMatrix));
  EXPECT_EQ(array.shape, (ArrayShape{2, 3}));
  EXPECT_EQ(values_of<float>(array), (std::vector<float>{1, 2, 3, 4, 5, 6.5}));
}

TEST(ParseNpy, TransposesMatricesOfSeveralTiles) {
  constexpr std::size_t kRows = 70, kColumns = 45;
  std::string data(kRows * kColumns * 2, '\0');
  for (std::size_t j = 0; j < kColumns; ++j) {
    for (std::size_t i = 0; i < kRows; ++i) {
      data[2 * (j * kRows + i)] = static_cast<char>(i);
      data[2 * (j * kRows + i) + 1] = static_cast<char>(j);
    }
  }
  const auto values = values_of<std::uint16_t>(
      parsed(with_header("{'descr': '<u2', 'fortran_order': True, 'shape': (70, 45)}", data)));
  ASSERT_EQ(values.size(), kRows * kColumns);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      ASSERT_EQ(values[i * kColumns + j], i | j << 8) << i << ", " << j;
    }
  }
}

TEST(ParseNpy, RefusesFortranOrderOfMoreDimensions) {
  const std::string cube =
      with_header("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2)}", "01234567");
  EXPECT_THAT(refusal(parse(cube)), StartsWith("Fortran order is supported up to two dimensions"));
}

TEST(ParseNpy, IgnoresTheOrderOfAVector) {
  const Array array =
      parsed(with_header("{'descr': '|u1', 'fortran_order': True, 'shape': (3,)}", "\1\2\3"));
  EXPECT_EQ(values_of<std::uint8_t>(array), (std::vector<std::uint8_t>{1, 2, 3}));
}

TEST(ParseNpy, ReadsTheOtherTypes) {
  EXPECT_EQ(values_of<std::int64_t>(parsed(from_base64(kBigEndian))),
            (std::vector<std::int64_t>{1, -2, 3}));
  EXPECT_EQ(values_of<float>(parsed(from_base64(kHalf))), (std::vector<float>{1, -0.5, 65504}));
  EXPECT_EQ(values_of<std::uint8_t>(parsed(from_base64(kBooleans))),
            (std::vector<std::uint8_t>{1, 0, 1}));
}

TEST(ParseNpy, ReadsTheLaterVersions) {
  EXPECT_EQ(values_of<double>(parsed(from_base64(kVersion2))), std::vector<double>{1.5});
  const Array scalar = parsed(from_base64(kVersion3));
  EXPECT_EQ(scalar.shape, ArrayShape{});
  EXPECT_EQ(values_of<double>(scalar), std::vector<double>{2.5});
}

TEST(ParseNpy, ReadsEmptyArrays) {
  const Array array = parsed(with_shape("(0, 5)", ""));
  EXPECT_EQ(array.shape, (ArrayShape{0, 5}));
  EXPECT_TRUE(values_of<float>(array).empty());
}

TEST(ParseNpy, SaysWhatIsWrongAndWhatToDo) {
  struct Case {
    std::string file;
    const char* message;
  };
  const std::string matrix = from_base64(kMatrix);
  for (const auto& [file, message] : {
           Case{"", "is not a .npy file; make one with numpy.save"},
           Case{"NUMPY", "is not a .npy file; make one with numpy.save"},
           Case{matrix.substr(0, 7),
                "truncated: the start of a .npy file needs 8 bytes but only 7 are there; copy or "
                "save it again"},
           Case{matrix.substr(0, 9),
                "truncated: the start of a .npy file needs 10 bytes but only 9 are there; copy or "
                "save it again"},
           Case{matrix.substr(0, 100),
                "truncated: the header needs 118 bytes but only 90 are there; copy or save it "
                "again"},
           Case{matrix.substr(0, 150),
                "truncated: f4 of shape (2, 3) needs 24 bytes but only 22 are there; copy or save "
                "it again"},
           Case{matrix + "x",
                "f4 of shape (2, 3) needs 24 bytes but 25 follow the header; save it again"},
           Case{std::string("\x93NUMPY\x04\x00", 8) + "....",
                "has version 4.0 of the .npy format; 1.0, 2.0 and 3.0 are read"},
           Case{"\x93NUMPY\x01\x01....",
                "has version 1.1 of the .npy format; 1.0, 2.0 and 3.0 are read"},
           Case{std::string("\x93NUMPY\x02\x00\x00\x00\x01\x00", 12),
                "the header of 65536 bytes is longer than any plain array needs (65535)"},
           Case{from_base64(kRecords),
                "arrays of records are not supported; save one field of it instead"},
           Case{with_shape("(4294967296, 4294967296)", ""),
                "the shape (4294967296, 4294967296) has more elements than memory can hold"},
           Case{with_shape("(4611686018427387904,)", ""),
                "the shape (4611686018427387904,) has more elements than memory can hold"},
           Case{with_shape("(1000000000000,)", "...."),
                "truncated: f4 of shape (1000000000000,) needs 4000000000000 bytes but only 4 are "
                "there; copy or save it again"},
       }) {
    EXPECT_EQ(refusal(parse(file)), message);
  }
}

// Every change of one byte and every wrong length of some valid files.
TEST(ParseNpy, SurvivesEveryDamagedByteAndLength) {
  for (const auto sample : {kMatrix, kFortranMatrix, kBigEndian, kHalf, kVersion2, kRecords}) {
    const std::string original = from_base64(sample);
    for (std::size_t place = 0; place < original.size(); ++place) {
      EXPECT_FALSE(parse(original.substr(0, place)).has_value()) << "cut to " << place << " bytes";
      std::string damaged = original;
      for (int change = 1; change < 256; ++change) {
        damaged[place] = static_cast<char>(original[place] ^ change);
        const auto array = parse(damaged);
        if (!array) continue;
        ASSERT_EQ(ArrayView(*array).bytes().size(),
                  element_count(array->shape).value() * element_bytes(array->type()));
      }
    }
  }
}

class NpyFile : public FolderTest {};

TEST_F(NpyFile, IsWrittenByteForByteAsNumPyDoes) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6.5};
  const auto path = in_folder("matrix.npy");
  ASSERT_TRUE(write_npy(path, ArrayView({2, 3}, std::span<const float>(values))).has_value());
  EXPECT_EQ(content_of(path), from_base64(kMatrix));
}

template <typename T>
void expect_round_trip(const std::filesystem::path& path, const ArrayShape& shape) {
  constexpr std::uint64_t kSeed = 23;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", shape " << to_string(shape));
  Rng rng(kSeed);
  AlignedVector<T> values(element_count(shape).value());
  for (T& value : values) value = static_cast<T>(rng.below(128));
  ASSERT_TRUE(write_npy(path, ArrayView(shape, std::span<const T>(values))).has_value());
  const auto array = read_npy(path);
  ASSERT_TRUE(array.has_value()) << array.error().message;
  EXPECT_EQ(array->shape, shape);
  EXPECT_EQ(array->values, Values(values));
}

TEST_F(NpyFile, GivesBackWhatWasWritten) {
  const auto path = in_folder("array.npy");
  for (const ArrayShape& shape :
       {ArrayShape{}, ArrayShape{7}, ArrayShape{0, 3}, ArrayShape{3, 5},
        ArrayShape(kDimensionsMax, 1), ArrayShape{2, 3, 4}, ArrayShape{100000}}) {
    expect_round_trip<float>(path, shape);
    expect_round_trip<double>(path, shape);
    expect_round_trip<std::int8_t>(path, shape);
    expect_round_trip<std::int16_t>(path, shape);
    expect_round_trip<std::int32_t>(path, shape);
    expect_round_trip<std::int64_t>(path, shape);
    expect_round_trip<std::uint8_t>(path, shape);
    expect_round_trip<std::uint16_t>(path, shape);
    expect_round_trip<std::uint32_t>(path, shape);
    expect_round_trip<std::uint64_t>(path, shape);
  }
}

TEST_F(NpyFile, StartsItsDataOnACacheLine) {
  for (std::size_t dimensions = 0; dimensions <= kDimensionsMax; ++dimensions) {
    const std::array<float, 1> values = {};
    const auto path = in_folder("array.npy");
    ASSERT_TRUE(
        write_npy(path, ArrayView(ArrayShape(dimensions, 1), std::span(values))).has_value());
    EXPECT_EQ(std::filesystem::file_size(path) % 64, sizeof(float)) << dimensions;
  }
}

TEST_F(NpyFile, IsNamedInErrors) {
  const auto path = make_file("text.npy", "hello");
  EXPECT_EQ(refusal(read_npy(path)),
            path.string() + ": is not a .npy file; make one with numpy.save");
  EXPECT_THAT(refusal(read_npy(in_folder("missing.npy"))),
              EndsWith("missing.npy: cannot open: No such file or directory"));
  const auto status = write_npy(in_folder("no/array.npy"), parsed(from_base64(kMatrix)));
  EXPECT_THAT(refusal(status), HasSubstr("no/array.npy: cannot open its folder"));
}

}  // namespace
}  // namespace ballast::files
