#include "ballast/wire/bfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ballast::wire {
namespace {

TEST(Bfloat16, EveryBfloat16ComesBackAsItself) {
  for (std::uint32_t bits = 0; bits < 0x1'0000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_bfloat16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(value))));
    } else {
      EXPECT_EQ(to_bfloat16(value), half);
    }
  }
}

// 1 is 0x3F80; the next bfloat16 is 1 + 2^-7. Half-way goes to the even one of the two.
TEST(Bfloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(to_bfloat16(1.0f + 0x1p-8f), 0x3F80);
  EXPECT_EQ(to_bfloat16(1.0f + 0x1p-8f + 0x1p-23f), 0x3F81);
  EXPECT_EQ(to_bfloat16(1.0f + 3 * 0x1p-8f), 0x3F82);
  EXPECT_EQ(to_bfloat16(1.0f + 3 * 0x1p-8f - 0x1p-23f), 0x3F81);
  EXPECT_EQ(to_bfloat16(-1.0f - 3 * 0x1p-8f), 0xBF82);
}

TEST(Bfloat16, NothingThatIsNoNumberBecomesOne) {
  const float low_payload = std::bit_cast<float>(std::uint32_t{0x7F80'0001});
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(low_payload))));
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(-low_payload))));
  EXPECT_TRUE(std::isinf(from_bfloat16(to_bfloat16(std::numeric_limits<float>::max()))));
  EXPECT_EQ(to_bfloat16(-std::numeric_limits<float>::infinity()), 0xFF80);
}

TEST(Bfloat16, SpansAreConvertedElementByElement) {
  const std::vector<float> values = {0.0f, -2.5f, 1e30f, 1e-40f};
  std::vector<std::uint16_t> halves(values.size());
  std::vector<float> back(values.size());
  to_bfloat16(values, halves);
  from_bfloat16(halves, back);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(back[i], from_bfloat16(to_bfloat16(values[i])));
    EXPECT_NEAR(back[i], values[i], std::abs(values[i]) / 256 + 1e-40f);
  }
}

}  // namespace
}  // namespace ballast::wire
