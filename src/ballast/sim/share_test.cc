#include "ballast/sim/share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ballast::sim {
namespace {

struct Meant {
  double value;
  std::uint64_t numerator;
  std::uint64_t denominator;
};

TEST(Share, IsTheFractionThatTheDecimalMeans) {
  for (const Meant& meant :
       {Meant{0.0, 0, 1}, Meant{0.1, 1, 10}, Meant{0.3, 3, 10}, Meant{0.4, 2, 5},
        Meant{0.45, 9, 20}, Meant{1.0 / 3.0, 1, 3}, Meant{0.333333, 333333, 1000000},
        Meant{0.333333333333, 1, 3}, Meant{0.999999, 999999, 1000000}}) {
    SCOPED_TRACE(meant.value);
    const Share share = Share::make(meant.value).value();
    EXPECT_EQ(share.numerator(), meant.numerator);
    EXPECT_EQ(share.denominator(), meant.denominator);
  }
}

TEST(Share, EveryDecimalOfThreeDigitsIsMeantExactly) {
  for (std::uint64_t thousandths = 0; thousandths < 1000; ++thousandths) {
    const Share share = Share::make(static_cast<double>(thousandths) / 1000.0).value();
    EXPECT_EQ(share.numerator() * 1000, thousandths * share.denominator());
  }
}

// Whole numbers only: q floor <= p t < q (floor + 1).
TEST(Share, FloorsAreExactUpToAMillion) {
  for (const Meant& meant : {Meant{0.0, 0, 1}, Meant{0.1, 1, 10}, Meant{0.3, 3, 10},
                             Meant{0.4, 4, 10}, Meant{0.45, 45, 100}, Meant{1.0 / 3.0, 1, 3}}) {
    SCOPED_TRACE(meant.value);
    const Share share = Share::make(meant.value).value();
    for (std::uint64_t t = 0; t <= 1'000'000; ++t) {
      const std::uint64_t floor = share.floor_of(t);
      ASSERT_LE(floor * meant.denominator, meant.numerator * t);
      ASSERT_GT((floor + 1) * meant.denominator, meant.numerator * t);
    }
  }
}

TEST(Share, AnyOtherValueIsApproachedFromBelow) {
  for (const double value : {std::sqrt(2.0) - 1.0, 0.1234567891, 1.0 - 1e-13, 1e-9}) {
    SCOPED_TRACE(value);
    const Share share = Share::make(value).value();
    EXPECT_LE(share.value(), value);
    EXPECT_GT(share.value(), value - 0x1p-31);
  }
}

TEST(Share, FloorsDoNotOverflow) {
  const Share share = Share::make(1.0 - 1e-13).value();
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(share.floor_of(kLargest), kLargest - (std::uint64_t{1} << 33));
  EXPECT_EQ(Share::make(0.5).value().floor_of(kLargest), kLargest / 2);
}

TEST(Share, RefusesWhatIsNoShare) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {-0.1, 1.0, 2.0, kNan, std::numeric_limits<double>::infinity()}) {
    SCOPED_TRACE(value);
    EXPECT_FALSE(Share::make(value).has_value());
  }
}

}  // namespace
}  // namespace ballast::sim
