#include "ballast/verify/settings.h"

#include <fmt/core.h>

namespace ballast::verify {

LeastSquares noisy_least_squares() {
  return LeastSquares(
      {.dim = kDim, .smallest_curvature = 0.1, .model_noise = 0.3, .constant_noise = 1.0});
}

LeastSquares tilted_least_squares() {
  return LeastSquares({.dim = kDim,
                       .smallest_curvature = 0.1,
                       .model_noise = 0.3,
                       .constant_noise = 1.0,
                       .tilt = 1.0});
}

LeastSquares linear_problem(double noise) {
  return LeastSquares({.dim = kDim,
                       .largest_curvature = 0.0,
                       .smallest_curvature = 0.0,
                       .constant_noise = noise,
                       .tilt = 1.0,
                       .smoothness = 1e-3});
}

LeastSquares slow_least_squares() {
  return LeastSquares({.dim = kDim, .smallest_curvature = 1e-3, .constant_noise = 1.0});
}

TrialOptions attacked_trial(double lambda, const std::string& attack) {
  return {.workers = kWorkers,
          .schedule = sim::ScheduleKind::kId,
          .share = lambda,
          .rule = fmt::format("ctma(gm, {})", lambda),
          .attack = attack};
}

std::string attack_label(double lambda, const std::string& attack) {
  return lambda == 0.0 ? "no attack" : fmt::format("{}, lambda {}", attack, lambda);
}

double constant_of_ctma(double lambda) { return ctma_constant(lambda, median_constant(lambda)); }

std::vector<std::uint64_t> doublings(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

std::vector<double> as_numbers(const std::vector<std::uint64_t>& values) {
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace ballast::verify
