#include "ballast/verify/least_squares.h"

#include <cmath>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"

namespace ballast::verify {
namespace {

constexpr double kRadius = 1.0;
const double kUniformDeviation = std::sqrt(1.0 / 12.0);  // of a number drawn from [0, 1)

}  // namespace

LeastSquares::LeastSquares(const LeastSquaresOptions& options)
    : options_(options), curvature_(options.dim, 1.0) {
  BALLAST_CHECK(options.dim >= 1 && options.smallest_curvature > 0.0, "a problem that exists");
  for (std::size_t j = 1; j < options.dim; ++j) {
    const double place = static_cast<double>(j) / static_cast<double>(options.dim - 1);
    curvature_[j] = std::pow(options.smallest_curvature, place);
  }
  // The largest h is 1, and no point of K is further than 3/2 from the optimum.
  const double farthest = 1.5 * kRadius;
  const double m = options.model_noise;
  constants_ = {.smoothness = 1.0 + m,
                .deviation = std::hypot(m * farthest, options.constant_noise),
                .smoothness_deviation = m,
                .diameter = 2.0 * kRadius};
}

Result<double> LeastSquares::gradient(std::span<const float> model, const worker::Sample& sample,
                                      std::span<float> out, std::span<float>) {
  Rng rng(RngKey{.seed = sample.key.seed,
                 .purpose = static_cast<std::uint32_t>(Purpose::kLeastSquares),
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
    out[j] = static_cast<float>(slope * model[j] - scale * uniform);
    loss += slope * model[j] * model[j] / 2.0 - scale * uniform * model[j];
  }
  return loss;
}

optim::Projection LeastSquares::set() const {
  const double coordinate = 0.5 * kRadius / std::sqrt(static_cast<double>(dim()));
  return optim::Ball{.radius = kRadius, .centre = std::vector<double>(dim(), coordinate)};
}

std::vector<float> LeastSquares::start() const {
  const double coordinate = kRadius / std::sqrt(static_cast<double>(dim()));
  return std::vector<float>(dim(), static_cast<float>(coordinate));
}

double LeastSquares::excess(std::span<const float> x) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += curvature_[j] * static_cast<double>(x[j]) * x[j] / 2.0;
  }
  return sum;
}

void LeastSquares::expected_gradient(std::span<const float> x, std::span<double> out) const {
  for (std::size_t j = 0; j < x.size(); ++j) out[j] = curvature_[j] * x[j];
}

}  // namespace ballast::verify
