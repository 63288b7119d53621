#pragma once
// Quantiles of the standard normal distribution. Our own: the standard library has none, and no
// small Debian package offers one.

namespace ballast::attacks {

inline constexpr double kProbabilityMin = 1e-300;

// The z with P(Z <= z) = probability, to 1e-13 absolute or relative, whichever is larger; exactly
// 0 for one half.
// Requires: kProbabilityMin <= probability < 1.
double normal_quantile(double probability) noexcept;

}  // namespace ballast::attacks
