#pragma once
// Whether one curve is ahead of another, judged seed by seed: runs of the same seed share their
// data order and their arrivals, so the differences vary less than the curves themselves.

#include <cstddef>
#include <span>
#include <string_view>

namespace ballast::records {

// How sure an interval is: it misses the true mean once in twenty times.
inline constexpr double kConfidence = 0.95;

// The mean of paired differences, and Student's interval for it. Assumes that the differences of
// different seeds are independent and roughly normal.
struct PairedDifference {
  std::size_t pairs = 0;
  double mean = 0.0;
  double low = 0.0;  // both ends infinite with fewer than two pairs, which tell nothing
  double high = 0.0;
};

PairedDifference paired_difference(std::span<const double> differences);

enum class Finding { kHolds, kFails, kNotDecided };

std::string_view to_text(Finding finding);

// "The difference is at least `margin`": holds if the whole interval is, fails if none of it is.
Finding judge_lead(const PairedDifference& difference, double margin);

// "The two are on par": holds if the whole interval lies within `within` of zero, on either side;
// fails if all of it lies outside, on one side. Requires: within >= 0.
Finding judge_equivalence(const PairedDifference& difference, double within);

// The value below which Student's t with so many degrees of freedom lies with the probability.
// Requires: 0 < probability < 1, degrees >= 1. Accurate to about 1e-9 of the value.
double student_quantile(double probability, double degrees);

}  // namespace ballast::records
