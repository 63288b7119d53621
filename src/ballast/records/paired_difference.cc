#include "ballast/records/paired_difference.h"

#include <cmath>
#include <limits>

#include "ballast/base/check.h"

namespace ballast::records {
namespace {

// Differences are sums of whole numbers of test samples, and round: a tie with a margin stays one.
constexpr double kRounding = 1e-9;

// The continued fraction of the incomplete beta function, by Lentz's method (Numerical Recipes,
// 6.4). Converges quickly for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-15;
  constexpr int kStepsMax = 10'000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1.0;
  double d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  double result = d;
  for (int m = 1; m <= kStepsMax; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1.0) < kPrecision) break;
  }
  return result;
}

// The regularised incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

// The probability that Student's t exceeds `value` >= 0.
double upper_tail(double value, double degrees) {
  return 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + value * value));
}

}  // namespace

double student_quantile(double probability, double degrees) {
  BALLAST_CHECK(probability > 0.0 && probability < 1.0 && degrees >= 1.0, "a quantile of nothing");
  if (probability < 0.5) return -student_quantile(1.0 - probability, degrees);
  const double tail = 1.0 - probability;
  double low = 0.0;
  double high = 1.0;
  while (upper_tail(high, degrees) > tail) high *= 2.0;
  // The tail falls with the value, and every step halves what is left.
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double middle = 0.5 * (low + high);
    (upper_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

PairedDifference paired_difference(std::span<const double> differences) {
  PairedDifference result{.pairs = differences.size(),
                          .low = -std::numeric_limits<double>::infinity(),
                          .high = std::numeric_limits<double>::infinity()};
  if (differences.empty()) return result;
  const auto count = static_cast<double>(differences.size());
  for (const double difference : differences) result.mean += difference / count;
  if (differences.size() < 2) return result;
  double squares = 0.0;
  for (const double difference : differences) {
    squares += (difference - result.mean) * (difference - result.mean);
  }
  const double error = std::sqrt(squares / (count - 1.0) / count);
  const double reach = student_quantile(0.5 + kConfidence / 2.0, count - 1.0) * error;
  result.low = result.mean - reach;
  result.high = result.mean + reach;
  return result;
}

std::string_view to_text(Finding finding) {
  switch (finding) {
    case Finding::kHolds:
      return "holds";
    case Finding::kFails:
      return "fails";
    case Finding::kNotDecided:
      break;
  }
  return "not decided";
}

Finding judge_lead(const PairedDifference& difference, double margin) {
  if (difference.low >= margin - kRounding) return Finding::kHolds;
  return difference.high < margin - kRounding ? Finding::kFails : Finding::kNotDecided;
}

Finding judge_equivalence(const PairedDifference& difference, double within) {
  const double limit = within + kRounding;
  if (difference.low >= -limit && difference.high <= limit) return Finding::kHolds;
  const bool is_outside = difference.low > limit || difference.high < -limit;
  return is_outside ? Finding::kFails : Finding::kNotDecided;
}

}  // namespace ballast::records
