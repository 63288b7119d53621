#include "ballast/files/npy_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

using testing::HasSubstr;

NpyHeader parsed(std::string_view text) {
  auto header = parse_npy_header(text);
  EXPECT_TRUE(header.has_value()) << header.error().message;
  return header.value_or(NpyHeader{});
}

std::string with_descr(std::string_view descr) {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (3,), }";
}

std::string with_shape(std::string_view shape) {
  return "{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + "}";
}

TEST(NpyHeader, ReadsWhatNumPyWrites) {
  const NpyHeader header =
      parsed("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }            \n");
  EXPECT_EQ(header.type.name, "f4");
  EXPECT_EQ(header.byte_order, std::endian::little);
  EXPECT_FALSE(header.is_fortran_order);
  EXPECT_EQ(header.shape, (ArrayShape{3, 4}));
}

TEST(NpyHeader, TakesAnyOrderSpacingAndQuotes) {
  const NpyHeader header =
      parsed(" {\"shape\" :( 3,4 , ) ,\t'fortran_order':True\n,'descr'  :  \">i8\"}");
  EXPECT_EQ(header.type.type, ElementType::kInt64);
  EXPECT_EQ(header.byte_order, std::endian::big);
  EXPECT_TRUE(header.is_fortran_order);
  EXPECT_EQ(header.shape, (ArrayShape{3, 4}));
}

TEST(NpyHeader, ReadsEveryShape) {
  EXPECT_EQ(parsed(with_shape("()")).shape, ArrayShape{});
  EXPECT_EQ(parsed(with_shape("(5,)")).shape, ArrayShape{5});
  EXPECT_EQ(parsed(with_shape("(0, 7, 18446744073709551615)")).shape,
            (ArrayShape{0, 7, 18446744073709551615u}));
}

TEST(NpyHeader, KnowsTheNumericTypes) {
  for (const char* descr : {"'|b1'", "'|u1'", "'|i1'", "'<u2'", "'>i2'", "'<u4'", "'<i4'", "'>u8'",
                            "'<i8'", "'<f2'", "'<f4'", "'>f8'", "'<u1'"}) {
    EXPECT_TRUE(parse_npy_header(with_descr(descr)).has_value()) << descr;
  }
}

TEST(NpyHeader, RefusesOtherTypesAndSaysWhatToDo) {
  EXPECT_EQ(refusal(parse_npy_header(with_descr("'|O'"))),
            "elements of type '|O' are not supported; convert the array with astype('float32')");
  EXPECT_EQ(refusal(parse_npy_header(with_descr("[('a', '<i4')]"))),
            "arrays of records are not supported; save one field of it instead");
  for (const char* descr : {"'<c8'", "'<U4'", "'|S3'", "'<M8[ns]'", "'<f16'", "'|f4'", "'=f4'",
                            "'f4'", "''", "'<'", "'|V8'"}) {
    const auto header = parse_npy_header(with_descr(descr));
    EXPECT_THAT(refusal(header), HasSubstr("are not supported")) << descr;
    EXPECT_EQ(header.error().code, ErrorCode::kUnsupported) << descr;
  }
}

TEST(NpyHeader, SaysWhatIsMalformedAndWhere) {
  struct Case {
    std::string text;
    const char* message;
  };
  for (const auto& [text, message] : {
           Case{"", "expected '{' at its byte 0"},
           Case{"{", "expected a quoted text at its byte 1"},
           Case{"{descr", "expected a quoted text at its byte 1"},
           Case{"{'descr", "expected a text with both its quotes at its byte 1"},
           Case{"{'descr' '<f4'}", "expected ':' at its byte 9"},
           Case{"{'descr': <f4}", "expected a quoted text at its byte 10"},
           Case{"{'descr': '<f4' 'shape': ()}", "expected '}' at its byte 16"},
           Case{"{'fortran_order': 1}", "expected True or False at its byte 18"},
           Case{"{'shape': 3}", "expected '(' at its byte 10"},
           Case{"{'shape': (3)}", "expected ',' at its byte 12"},
           Case{"{'shape': (3, 4}", "expected ')' at its byte 15"},
           Case{"{'shape': (-3,)}", "expected a dimension at its byte 11"},
           Case{"{'shape': (,)}", "expected a dimension at its byte 11"},
           Case{"{'shape': (1.5,)}", "expected ',' at its byte 12"},
           Case{"{'shape': (18446744073709551616,)}", "expected a dimension below 2^64"},
           Case{with_shape("()") + "x", "expected nothing after the dictionary"},
           Case{with_shape("()") + std::string(1, '\0'), "expected nothing after the dictionary"},
           Case{"{'descr': '<f4', 'descr': '<f4'}", "has the key 'descr' twice"},
           Case{"{'color': 'red'}", "has an unknown key 'color'"},
           Case{"{'a\x1b': 'red'}", "has an unknown key 'a?'"},
           Case{"{}", "has no key 'descr'"},
           Case{"{'descr': '<f4'}", "has no key 'fortran_order'"},
           Case{"{'descr': '<f4', 'fortran_order': True}", "has no key 'shape'"},
       }) {
    EXPECT_THAT(refusal(parse_npy_header(text)), HasSubstr(message)) << text;
  }
}

TEST(NpyHeader, LimitsTheNumberOfDimensions) {
  std::string shape = "(";
  for (std::size_t i = 0; i < kDimensionsMax; ++i) shape += "1,";
  EXPECT_EQ(parsed(with_shape(shape + ")")).shape.size(), kDimensionsMax);
  EXPECT_EQ(refusal(parse_npy_header(with_shape(shape + "1,)"))), "more than 32 dimensions");
}

TEST(NpyDictionary, IsWrittenAsNumPyWritesIt) {
  EXPECT_EQ(npy_dictionary(ElementType::kFloat32, {3, 4}),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
  EXPECT_EQ(npy_dictionary(ElementType::kUint8, {3}),
            "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }");
}

}  // namespace
}  // namespace ballast::files
