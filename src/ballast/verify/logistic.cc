#include "ballast/verify/logistic.h"

#include <algorithm>
#include <cmath>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"

namespace ballast::verify {
namespace {

constexpr std::uint64_t kFeatureSeed = 1;
constexpr double kTruthScale = 2.0;  // of <a, x_0>: labels are neither certain nor coin tosses

double sigmoid(double value) { return 1.0 / (1.0 + std::exp(-value)); }

// log(1 + exp(value)) without overflow.
double softplus(double value) {
  return std::max(value, 0.0) + std::log1p(std::exp(-std::abs(value)));
}

double product(std::span<const double> a, std::span<const float> x) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * x[j];
  return sum;
}

std::vector<double> unit_vector(std::size_t dim, Rng& rng) {
  std::vector<double> vector(dim);
  double squares = 0.0;
  for (double& value : vector) {
    value = rng.normal();
    squares += value * value;
  }
  for (double& value : vector) value /= std::sqrt(squares);
  return vector;
}

}  // namespace

Logistic::Logistic(const LogisticOptions& options) : options_(options) {
  BALLAST_CHECK(options.dim >= 1 && options.feature_count >= 1, "a problem that exists");
  Rng rng(RngKey{.seed = kFeatureSeed,
                 .purpose = static_cast<std::uint32_t>(TrialPurpose::kLogisticFeatures)});
  for (std::size_t i = 0; i < options.feature_count; ++i) {
    const std::vector<double> a = unit_vector(options.dim, rng);
    features_.insert(features_.end(), a.begin(), a.end());
    true_products_.push_back(kTruthScale * a[0]);
  }
  // |a| = 1 and the second derivative of the loss is at most 1/4. A gradient is a vector of length
  // at most 1, so its variance is at most 1; that of a difference is at most L^2 per distance.
  const double root = std::sqrt(static_cast<double>(options.dim));
  constants_ = {.smoothness = 0.25,
                .deviation = 1.0,
                .smoothness_deviation = 0.25,
                .diameter = 2.0 * options.half_side * root};
}

std::span<const double> Logistic::feature(std::size_t index) const {
  return std::span(features_).subspan(index * options_.dim, options_.dim);
}

Result<double> Logistic::gradient(std::span<const float> model, const worker::Sample& sample,
                                  std::span<float> out, std::span<float>) {
  Rng rng(RngKey{.seed = sample.key.seed,
                 .purpose = static_cast<std::uint32_t>(TrialPurpose::kLogistic),
                 .owner = sample.key.worker,
                 .step = sample.key.step});
  const std::size_t index = rng.below(options_.feature_count);
  const int label = sample.label(rng.uniform() < sigmoid(true_products_[index]) ? 1 : 0);
  const std::span<const double> a = feature(index);
  const double score = true_products_[index] + product(a, model);
  const double slope = sigmoid(score) - label;
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = static_cast<float>(slope * a[j]);
  return softplus(score) - label * score;
}

optim::Projection Logistic::set() const {
  return optim::Box{.low = -options_.half_side, .high = options_.half_side};
}

std::vector<float> Logistic::start() const {
  return std::vector<float>(options_.dim, static_cast<float>(options_.half_side));
}

// The excess of each feature is a relative entropy of two coins, so no term is negative; written
// out it would be a small difference of large numbers, so near the optimum its series is used.
double Logistic::excess(std::span<const float> x) const {
  constexpr double kSeriesBelow = 1e-4;
  double sum = 0.0;
  for (std::size_t i = 0; i < options_.feature_count; ++i) {
    const double p = sigmoid(true_products_[i]), step = product(feature(i), x);
    const double series = p * (1.0 - p) * step * step * (0.5 + (1.0 - 2.0 * p) * step / 6.0);
    const double exact =
        softplus(true_products_[i] + step) - softplus(true_products_[i]) - p * step;
    sum += std::abs(step) < kSeriesBelow ? series : exact;
  }
  return sum / static_cast<double>(options_.feature_count);
}

void Logistic::expected_gradient(std::span<const float> x, std::span<double> out) const {
  std::ranges::fill(out, 0.0);
  for (std::size_t i = 0; i < options_.feature_count; ++i) {
    const std::span<const double> a = feature(i);
    const double slope = sigmoid(true_products_[i] + product(a, x)) - sigmoid(true_products_[i]);
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] += slope * a[j] / static_cast<double>(options_.feature_count);
    }
  }
}

}  // namespace ballast::verify
