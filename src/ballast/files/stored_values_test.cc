#include "ballast/files/stored_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

using Encoding = StoredType::Encoding;

// The definition of a binary floating-point number with `fraction_bits`, in double.
double value_of(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double sign = bits >> (exponent_bits + fraction_bits) == 0 ? 1.0 : -1.0;
  if (exponent == 2 * bias + 1) return fraction == 0 ? sign * INFINITY : NAN;
  const double significand = (exponent == 0 ? 0.0 : 1.0) + std::ldexp(fraction, -fraction_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias);
}

void expect_same(float widened, double expected, unsigned bits) {
  ASSERT_EQ(std::isnan(widened), std::isnan(expected)) << bits;
  if (std::isnan(expected)) return;
  ASSERT_EQ(widened, expected) << bits;
  ASSERT_EQ(std::signbit(widened), std::signbit(expected)) << bits;
}

TEST(WidenFloat16, IsExactForEveryBitPattern) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    expect_same(widen_float16(static_cast<std::uint16_t>(bits)), value_of(bits, 5, 10), bits);
  }
}

TEST(WidenBfloat16, IsExactForEveryBitPattern) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    expect_same(widen_bfloat16(static_cast<std::uint16_t>(bits)), value_of(bits, 8, 7), bits);
  }
}

Array loaded(std::string_view bytes, const StoredValues& stored) {
  auto values = load_values(MemorySource(std::as_bytes(std::span(bytes))), stored);
  EXPECT_TRUE(values.has_value()) << values.error().message;
  return {.shape = {stored.count}, .values = std::move(values).value_or(Values{})};
}

TEST(LoadValues, StartsAtTheOffset) {
  const Array array = loaded(std::string_view("..\x01\x00\x02\x80.", 7),
                             {.type = {"i2", ElementType::kInt16}, .offset = 2, .count = 2});
  EXPECT_EQ(values_of<std::int16_t>(array), (std::vector<std::int16_t>{1, -32766}));
}

TEST(LoadValues, SwapsBigEndianElements) {
  const Array array =
      loaded("\x01\x02\x03\x04\x05\x06\x07\x08",
             {.type = {"u4", ElementType::kUint32}, .count = 2, .byte_order = std::endian::big});
  EXPECT_EQ(values_of<std::uint32_t>(array), (std::vector<std::uint32_t>{0x01020304, 0x05060708}));
}

TEST(LoadValues, WidensBothKindsOfSixteenBitFloats) {
  const Array half =
      loaded(std::string_view("\x00\x3c\x00\xb8", 4),
             {.type = {"f2", ElementType::kFloat32, Encoding::kFloat16}, .count = 2});
  EXPECT_EQ(values_of<float>(half), (std::vector<float>{1.0f, -0.5f}));
  const Array brain = loaded(std::string_view("\x3f\x80\xc0\x49", 4),
                             {.type = {"BF16", ElementType::kFloat32, Encoding::kBfloat16},
                              .count = 2,
                              .byte_order = std::endian::big});
  EXPECT_EQ(values_of<float>(brain), (std::vector<float>{1.0f, -3.140625f}));
}

TEST(LoadValues, GivesAlignedMemory) {
  const Array array =
      loaded("....\x01", {.type = {"u1", ElementType::kUint8}, .offset = 4, .count = 1});
  const auto address = reinterpret_cast<std::uintptr_t>(ArrayView(array).bytes().data());
  EXPECT_EQ(address % kCacheLineBytes, 0u);
}

}  // namespace
}  // namespace ballast::files
