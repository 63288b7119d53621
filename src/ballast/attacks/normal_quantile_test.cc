#include "ballast/attacks/normal_quantile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace ballast::attacks {
namespace {

// From the rational approximation AS 241 (Wichura 1988), good to 16 digits.
TEST(NormalQuantile, MatchesKnownValues) {
  for (const auto& [probability, z] :
       std::vector<std::pair<double, double>>{{0.5, 0.0},
                                              {0.75, 0.6744897501960817},
                                              {5.0 / 6.0, 0.9674215661017014},
                                              {0.9, 1.2815515655446008},
                                              {0.975, 1.9599639845400536},
                                              {0.999, 3.090232306167813},
                                              {0.01, -2.3263478740408408},
                                              {1e-10, -6.361340902404056},
                                              {1e-100, -21.27345356096532}}) {
    EXPECT_NEAR(normal_quantile(probability), z, 1e-13 * (1.0 + std::abs(z))) << probability;
  }
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  for (double z = -37.0; z <= 8.0; z += 0.37) {
    const double probability = 0.5 * std::erfc(-z / std::numbers::sqrt2);
    // Near 1 the probability itself is rounded to 1e-16, which its small density magnifies.
    const double tolerance = z < 0.0 ? 1e-12 : 1e-15 * std::exp(0.5 * z * z) + 1e-13;
    EXPECT_NEAR(normal_quantile(probability), z, tolerance) << z;
  }
}

TEST(NormalQuantile, IsOddAboutOneHalf) {
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  for (const double p : {0.25, 0.125, 0x1.0p-40}) {
    EXPECT_EQ(normal_quantile(1.0 - p), -normal_quantile(p));
  }
}

TEST(NormalQuantile, ReachesBothEnds) {
  EXPECT_NEAR(normal_quantile(kProbabilityMin), -37.04710, 1e-5);
  EXPECT_NEAR(normal_quantile(1.0 - 0x1.0p-53), 8.2095362, 1e-6);
}

TEST(NormalQuantileDeathTest, StopsOnWhatIsNotAProbability) {
  for (const double bad : {0.0, 1.0, -0.5, std::nan("")}) {
    EXPECT_DEATH(normal_quantile(bad), "not a probability");
  }
}

}  // namespace
}  // namespace ballast::attacks
