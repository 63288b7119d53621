#include "ballast/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "ballast/base/rng.h"
#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

std::string with_header(std::string_view json, std::string_view data) {
  const auto length = std::bit_cast<std::array<char, 8>>(std::uint64_t{json.size()});
  return std::string(length.data(), length.size()) + std::string(json) + std::string(data);
}

// A tensor of unsigned bytes.
std::string entry(std::string_view name, std::size_t begin, std::size_t end) {
  return "\"" + std::string(name) + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
         R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

Result<Tensors> parse(std::string_view text) {
  return parse_safetensors(std::as_bytes(std::span(text)));
}

Tensors parsed(std::string_view text) {
  auto tensors = parse(text);
  EXPECT_TRUE(tensors.has_value()) << tensors.error().message;
  return std::move(tensors).value_or(Tensors{});
}

// A file as the format's own library lays it out: padded header, metadata, two tensors.
std::string sample() {
  return with_header(R"({"__metadata__":{"format":"pt","step":"7"},)"
                     R"("rows":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                     R"("counts":{"dtype":"I16","shape":[2],"data_offsets":[8,12]}}   )",
                     std::string_view("\x00\x00\x80\x3f\x00\x00\x00\xc0\x03\x00\xff\xff", 12));
}

TEST(ParseSafetensors, ReadsTensorsAndMetadata) {
  const Tensors tensors = parsed(sample());

  ASSERT_EQ(tensors.tensors.size(), 2u);
  EXPECT_EQ(tensors.tensors[0].name, "rows");
  EXPECT_EQ(tensors.tensors[0].array.shape, (ArrayShape{2, 1}));
  EXPECT_EQ(values_of<float>(tensors.tensors[0].array), (std::vector<float>{1.0f, -2.0f}));
  ASSERT_NE(tensors.find("counts"), nullptr);
  EXPECT_EQ(values_of<std::int16_t>(*tensors.find("counts")), (std::vector<std::int16_t>{3, -1}));
  EXPECT_EQ(tensors.find("weights"), nullptr);
  EXPECT_THAT(tensors.metadata, ElementsAre(Pair("format", "pt"), Pair("step", "7")));
}

TEST(ParseSafetensors, KeepsTheOrderOfTheData) {
  const std::string header =
      "{" + entry("b", 2, 3) + "," + entry("none", 2, 2) + "," + entry("a", 0, 2) + "}";
  const Tensors tensors = parsed(with_header(header, "\1\2\3"));
  ASSERT_EQ(tensors.tensors.size(), 3u);
  EXPECT_EQ(tensors.tensors[0].name, "a");
  EXPECT_EQ(tensors.tensors[1].name, "none");
  EXPECT_EQ(tensors.tensors[2].name, "b");
  EXPECT_EQ(values_of<std::uint8_t>(*tensors.find("b")), std::vector<std::uint8_t>{3});
}

TEST(ParseSafetensors, ReadsEveryType) {
  struct Case {
    const char* dtype;
    std::size_t bytes;
    ElementType type;
  };
  for (const auto& [dtype, bytes, type] : {
           Case{"BOOL", 1, ElementType::kUint8},
           Case{"U8", 1, ElementType::kUint8},
           Case{"I8", 1, ElementType::kInt8},
           Case{"U16", 2, ElementType::kUint16},
           Case{"I16", 2, ElementType::kInt16},
           Case{"U32", 4, ElementType::kUint32},
           Case{"I32", 4, ElementType::kInt32},
           Case{"U64", 8, ElementType::kUint64},
           Case{"I64", 8, ElementType::kInt64},
           Case{"F16", 2, ElementType::kFloat32},
           Case{"BF16", 2, ElementType::kFloat32},
           Case{"F32", 4, ElementType::kFloat32},
           Case{"F64", 8, ElementType::kFloat64},
       }) {
    const std::string header = std::string(R"({"x":{"dtype":")") + dtype +
                               R"(","shape":[],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
    const Tensors tensors = parsed(with_header(header, std::string(bytes, '\0')));
    ASSERT_EQ(tensors.tensors.size(), 1u) << dtype;
    EXPECT_EQ(tensors.tensors[0].array.type(), type) << dtype;
    EXPECT_EQ(to_doubles(tensors.tensors[0].array), std::vector<double>{0.0}) << dtype;
  }
}

TEST(ParseSafetensors, AcceptsAFileWithoutTensors) {
  EXPECT_TRUE(parsed(with_header("{}", "")).tensors.empty());
}

TEST(ParseSafetensors, SaysWhatIsWrongWithTheFile) {
  struct Case {
    std::string file;
    const char* message;
  };
  for (const auto& [file, message] : {
           Case{"1234567", "is not a safetensors file: it has fewer than 8 bytes"},
           Case{std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10),
                "is not a safetensors file: its header would have 100000001 bytes (at most "
                "100000000)"},
           Case{std::string("\x05\0\0\0\0\0\0\0{}", 10),
                "truncated: the header needs 5 bytes but only 2 are there; copy it again"},
           Case{with_header("", ""), "is not a safetensors file: its header is not a JSON object"},
           Case{with_header("[]", ""),
                "is not a safetensors file: its header is not a JSON object"},
           Case{with_header(" {}", ""),
                "is not a safetensors file: its header is not a JSON object"},
           Case{with_header("{}", "x"),
                "has too many bytes: the tensors need 0 bytes of data but 1 are there; copy or "
                "save it again"},
           Case{with_header("{" + entry("x", 0, 4) + "}", "123"),
                "truncated: the tensors need 4 bytes of data but 3 are there; copy or save it "
                "again"},
           Case{with_header("{" + entry("x", 0, 4) + "," + entry("y", 3, 5) + "}", "12345"),
                "tensor 'y' overlaps the one before it; save the tensors again"},
           Case{with_header("{" + entry("x", 0, 2) + "," + entry("y", 3, 5) + "}", "12345"),
                "tensor 'y' leaves a hole before it; save the tensors again"},
       }) {
    EXPECT_EQ(refusal(parse(file)), message);
  }
}

TEST(ParseSafetensors, SaysWhatIsWrongWithTheHeader) {
  struct Case {
    std::string header;
    const char* message;
  };
  for (const auto& [header, message] : {
           Case{"{", "is not valid JSON at its byte 2"},
           Case{"{} {}", "is not valid JSON"},
           Case{"{\"\xff\":1}", "is not valid JSON"},
           Case{R"({"x":1})", "has a number where none belongs, near key 'x'"},
           Case{R"({"x":null})", "has null where none belongs"},
           Case{R"({"x":true})", "has a truth value where none belongs"},
           Case{R"({"x":[]})", "has a list where none belongs"},
           Case{R"({"x":"y"})", "has a text where none belongs"},
           Case{R"({"__metadata__":{"a":1}})", "has a number where none belongs, near key 'a'"},
           Case{R"({"__metadata__":{"a":{}}})", "has an object where none belongs"},
           Case{R"({"__metadata__":{"a":"1","a":"2"}})", "has the metadata 'a' twice"},
           Case{R"({"__metadata__":{},"__metadata__":{}})", "has '__metadata__' twice"},
           Case{"{" + entry("x", 0, 0) + "," + entry("x", 0, 0) + "}", "has 'x' twice"},
           Case{R"({"x":{}})", "tensor 'x' has no 'dtype'"},
           Case{R"({"x":{"dtype":"U8"}})", "tensor 'x' has no 'shape'"},
           Case{R"({"x":{"dtype":"U8","shape":[]}})", "tensor 'x' needs two 'data_offsets'"},
           Case{R"({"x":{"dtype":"U8","shape":[],"data_offsets":[1]}})",
                "needs two 'data_offsets'"},
           Case{R"({"x":{"dtype":"U8","dtype":"U8"}})", "tensor 'x' has 'dtype' twice"},
           Case{R"({"x":{"shape":[],"shape":[]}})", "tensor 'x' has 'shape' twice"},
           Case{R"({"x":{"data_offsets":[],"data_offsets":[]}})", "has 'data_offsets' twice"},
           Case{R"({"x":{"color":1}})", "tensor 'x' has an unknown key 'color'"},
           Case{R"({"x":{"dtype":["U8"]}})", "has a list where none belongs, near key 'dtype'"},
           Case{R"({"x":{"shape":[[1]]}})", "has a list where none belongs, near key 'shape'"},
           Case{R"({"x":{"shape":[-1]}})", "has a negative number where none belongs"},
           Case{R"({"x":{"shape":[1.5]}})", "has a fraction where none belongs"},
           Case{R"({"x":{"shape":[99999999999999999999]}})", "has a fraction where none belongs"},
           Case{R"({"x":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}})",
                "tensor 'x' has type 'F8_E4M3', which is not supported; convert it to F32"},
           Case{R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
                "tensor 'x' of type F32 and shape (2,) needs 8 bytes but has offsets 0 to 4"},
           Case{R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})",
                "tensor 'x' of type U8 and shape (2,) needs 2 bytes but has offsets 2 to 0"},
           Case{R"({"x":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
                "tensor 'x' has a shape (4294967296, 4294967296) beyond what memory can hold"},
           Case{R"({"x\u001b":{}})", "tensor 'x?' has no 'dtype'"},
       }) {
    EXPECT_THAT(refusal(parse(with_header(header, ""))), HasSubstr(message)) << header;
  }
}

TEST(ParseSafetensors, StopsAtDeepNesting) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(refusal(parse(with_header("{\"x\":" + deep, ""))), HasSubstr("has a list"));
  std::string objects = "{";
  for (int level = 0; level < 100'000; ++level) objects += "\"x\":{";
  EXPECT_THAT(refusal(parse(with_header(objects, ""))), HasSubstr("unknown key 'x'"));
}

TEST(ParseSafetensors, LimitsTheNumberOfDimensions) {
  std::string ones = "1";
  for (std::size_t i = 1; i < kDimensionsMax; ++i) ones += ",1";
  const auto header = [](const std::string& shape) {
    return R"({"x":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})";
  };
  EXPECT_EQ(parsed(with_header(header(ones), "x")).tensors.size(), 1u);
  EXPECT_THAT(refusal(parse(with_header(header(ones + ",1"), "x"))),
              HasSubstr("has a list that is too long"));
}

// Every change of one byte and every wrong length of a valid file.
TEST(ParseSafetensors, SurvivesEveryDamagedByteAndLength) {
  const std::string original = sample();
  for (std::size_t place = 0; place < original.size(); ++place) {
    EXPECT_FALSE(parse(original.substr(0, place)).has_value()) << "cut to " << place << " bytes";
    std::string damaged = original;
    for (int change = 1; change < 256; ++change) {
      damaged[place] = static_cast<char>(original[place] ^ change);
      const auto tensors = parse(damaged);
      if (!tensors) continue;
      for (const Tensor& tensor : tensors->tensors) {
        ASSERT_EQ(ArrayView(tensor.array).bytes().size(),
                  element_count(tensor.array.shape).value() * element_bytes(tensor.array.type()));
      }
    }
  }
}

TEST(LoadTensor, TakesTheOnlyOneOrTheNamedOne) {
  const std::string two = sample();
  const MemorySource both(std::as_bytes(std::span<const char>(two)));
  const auto counts = load_tensor(both, "counts");
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_EQ(values_of<std::int16_t>(*counts), (std::vector<std::int16_t>{3, -1}));

  const std::string one = with_header("{" + entry("x", 0, 2) + "}", "\1\2");
  const auto only = load_tensor(MemorySource(std::as_bytes(std::span<const char>(one))), "");
  ASSERT_TRUE(only.has_value()) << only.error().message;
  EXPECT_EQ(values_of<std::uint8_t>(*only), (std::vector<std::uint8_t>{1, 2}));
}

TEST(LoadTensor, ListsTheNamesWhenItCannotChoose) {
  const std::string two = sample();
  const MemorySource both(std::as_bytes(std::span<const char>(two)));
  EXPECT_EQ(refusal(load_tensor(both, "")),
            "has 2 tensors; add ':' and the name of one of them: 'rows', 'counts'");
  EXPECT_EQ(refusal(load_tensor(both, "row")), "has no tensor 'row'; it has 'rows', 'counts'");

  const std::string none = with_header("{}", "");
  EXPECT_EQ(refusal(load_tensor(MemorySource(std::as_bytes(std::span<const char>(none))), "")),
            "has no tensors");
}

TEST(LoadTensor, ShortensALongList) {
  std::string header = "{";
  for (int i = 0; i < 30; ++i) header += (i == 0 ? "" : ",") + entry("t" + std::to_string(i), 0, 0);
  const std::string file = with_header(header + "}", "");
  EXPECT_THAT(refusal(load_tensor(MemorySource(std::as_bytes(std::span<const char>(file))), "x")),
              EndsWith("'t18', 't19', ..."));
}

class SafetensorsFile : public FolderTest {};

TEST_F(SafetensorsFile, HasThePlainForm) {
  const std::vector<std::uint8_t> narrow = {1, 2, 3};
  const std::vector<float> wide = {1.0f};
  const std::vector<TensorView> tensors = {{"narrow", {{3}, std::span<const std::uint8_t>(narrow)}},
                                           {"wide", {{1, 1}, std::span<const float>(wide)}}};
  const auto path = in_folder("tensors");
  ASSERT_TRUE(write_safetensors(path, tensors, {{"by", "test"}}).has_value());
  const std::string header = R"({"__metadata__":{"by":"test"},)"
                             R"("wide":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
                             R"("narrow":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(content_of(path),
            with_header(padded, std::string_view("\x00\x00\x80\x3f\x01\x02\x03", 7)));
}

TEST_F(SafetensorsFile, GivesBackWhatWasWritten) {
  constexpr std::uint64_t kSeed = 29;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  AlignedVector<float> rows(15);
  for (float& value : rows) value = static_cast<float>(rng.normal());
  AlignedVector<std::int64_t> counts(3);
  for (auto& value : counts) value = static_cast<std::int64_t>(rng.next_u64());
  const Array rows_array{.shape = {3, 5}, .values = rows};
  const Array counts_array{.shape = {3}, .values = counts};
  const Array empty_array{.shape = {0, 2}, .values = AlignedVector<double>()};
  const std::vector<TensorView> written = {
      {"rows \"\\\n\xc3\xa9", rows_array}, {"counts", counts_array}, {"", empty_array}};
  const Metadata metadata = {{"k", "v"}, {"", ""}};
  const auto path = in_folder("tensors");
  ASSERT_TRUE(write_safetensors(path, written, metadata).has_value());

  const auto read = read_safetensors(path);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->metadata, metadata);
  ASSERT_EQ(read->tensors.size(), written.size());
  for (const TensorView& tensor : written) {
    const Array* array = read->find(tensor.name);
    ASSERT_NE(array, nullptr) << tensor.name;
    EXPECT_EQ(array->shape, tensor.array.shape);
  }
  EXPECT_EQ(read->find("counts")->values, counts_array.values);
  EXPECT_EQ(read->find(written[0].name)->values, rows_array.values);
}

TEST_F(SafetensorsFile, RefusesNamesThatCouldNotBeReadBack) {
  const Array array{.shape = {0}, .values = AlignedVector<float>()};
  const auto path = in_folder("tensors");
  const auto writing = [&](std::vector<TensorView> tensors, const Metadata& metadata = {}) {
    return refusal(write_safetensors(path, tensors, metadata));
  };
  EXPECT_EQ(writing({{"x", array}, {"x", array}}),
            path.string() + ": the tensor name 'x' is given twice; choose another");
  EXPECT_EQ(writing({{"__metadata__", array}}),
            path.string() + ": the tensor name '__metadata__' is reserved; choose another");
  EXPECT_THAT(writing({{"\xff", array}}), EndsWith("must be UTF-8"));
  EXPECT_THAT(writing({}, {{"a", "\xff"}}), EndsWith("must be UTF-8"));
  EXPECT_TRUE(names_in_folder().empty());
}

TEST_F(SafetensorsFile, IsNamedInErrors) {
  EXPECT_THAT(refusal(read_safetensors(make_file("short", "x"))),
              EndsWith("short: is not a safetensors file: it has fewer than 8 bytes"));
  EXPECT_THAT(refusal(read_safetensors(in_folder("missing"))),
              EndsWith("missing: cannot open: No such file or directory"));
  EXPECT_THAT(refusal(write_safetensors(in_folder("no/x"), {})),
              StartsWith(in_folder("no/x").string() + ": cannot open its folder"));
}

}  // namespace
}  // namespace ballast::files
