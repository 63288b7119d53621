#include "ballast/verify/least_squares.h"

#include <algorithm>
#include <cmath>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"

namespace ballast::verify {
namespace {

constexpr double kRadius = 1.0;
const double kUniformDeviation = std::sqrt(1.0 / 12.0);  // of a number drawn from [0, 1)

std::vector<double> curvatures(const LeastSquaresOptions& options) {
  std::vector<double> curvature(options.dim, options.largest_curvature);
  if (options.largest_curvature == 0.0) return curvature;
  const double ratio = options.smallest_curvature / options.largest_curvature;
  for (std::size_t j = 1; j < options.dim; ++j) {
    const double place = static_cast<double>(j) / static_cast<double>(options.dim - 1);
    curvature[j] *= std::pow(ratio, place);
  }
  return curvature;
}

}  // namespace

LeastSquares::LeastSquares(const LeastSquaresOptions& options)
    : options_(options), curvature_(curvatures(options)) {
  const double m = options.model_noise, largest = options.largest_curvature;
  const double smoothness = std::max(options.smoothness, largest * (1.0 + m));
  BALLAST_CHECK(options.dim >= 1 && smoothness > 0.0, "a problem that exists");
  BALLAST_CHECK((options.smallest_curvature > 0.0) == (largest > 0.0), "curved or linear");
  // No point of K is further from the optimum.
  const double farthest = (options.tilt > 0.0 ? 2.0 : 1.5) * kRadius;
  constants_ = {.smoothness = smoothness,
                .deviation = std::hypot(largest * m * farthest, options.constant_noise),
                .smoothness_deviation = largest * m,
                .diameter = 2.0 * kRadius,
                .optimum_gradient = options.tilt};
}

Result<double> LeastSquares::gradient(std::span<const float> model, const worker::Sample& sample,
                                      std::span<float> out, std::span<float>) {
  Rng rng(RngKey{.seed = sample.key.seed,
                 .purpose = static_cast<std::uint32_t>(TrialPurpose::kLeastSquares),
                 .owner = sample.key.worker,
                 .step = sample.key.step});
  const bool is_noisy = options_.model_noise > 0.0 || options_.constant_noise > 0.0;
  const double scale =
      options_.constant_noise / (kUniformDeviation * std::sqrt(static_cast<double>(dim())));
  double loss = 0.0;
  for (std::size_t j = 0; j < out.size(); ++j) {
    const std::uint64_t bits = is_noisy ? rng.next_u64() : 0;
    const double sign = (bits >> 63) != 0 ? 1.0 : -1.0;
    const double uniform = (static_cast<double>(bits & 0xFFFF'FFFFu) + 0.5) * 0x1p-32 - 0.5;
    const double slope = curvature_[j] * (1.0 + options_.model_noise * sign);
    const double offset = scale * uniform - (j == 0 ? options_.tilt : 0.0);
    out[j] = static_cast<float>(slope * model[j] - offset);
    loss += slope * model[j] * model[j] / 2.0 - offset * model[j];
  }
  return loss;
}

std::vector<double> LeastSquares::centre() const {
  if (options_.tilt == 0.0) {
    return std::vector<double>(dim(), 0.5 * kRadius / std::sqrt(static_cast<double>(dim())));
  }
  std::vector<double> centre(dim());
  centre[0] = kRadius;
  return centre;
}

optim::Projection LeastSquares::set() const {
  return optim::Ball{.radius = kRadius, .centre = centre()};
}

std::vector<float> LeastSquares::start() const {
  std::vector<float> start;
  for (const double value : centre()) start.push_back(static_cast<float>(2.0 * value));
  return start;
}

double LeastSquares::excess(std::span<const float> x) const {
  double sum = options_.tilt * x[0];
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += curvature_[j] * static_cast<double>(x[j]) * x[j] / 2.0;
  }
  return sum;
}

double LeastSquares::reachable_excess() const {
  std::vector<float> point;
  for (const double value : centre()) point.push_back(static_cast<float>(value));
  point[0] += static_cast<float>(kRadius);
  return excess(point);
}

void LeastSquares::expected_gradient(std::span<const float> x, std::span<double> out) const {
  for (std::size_t j = 0; j < x.size(); ++j) out[j] = curvature_[j] * x[j];
  out[0] += options_.tilt;
}

}  // namespace ballast::verify
