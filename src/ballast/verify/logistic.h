#pragma once
// Logistic regression with two classes on a box.
//
// There are finitely many feature vectors a of length 1. A sample draws one of them and a label
// that follows the model x_0, P(1 | a) = 1 / (1 + exp(-<a, x_0>)), so x_0 minimises the expected
// loss, and that loss and its gradient are finite sums. Models are differences from x_0: the
// optimum is the origin.

#include <cstddef>

#include "ballast/verify/problem.h"

namespace ballast::verify {

struct LogisticOptions {
  std::size_t dim = 10;
  std::size_t feature_count = 64;
  double half_side = 1.0;  // of the box around the optimum
};

class Logistic final : public Problem {
 public:
  // Requires: dim >= 1, feature_count >= 1.
  explicit Logistic(const LogisticOptions& options);

  std::size_t dim() const noexcept override { return options_.dim; }
  int class_count() const noexcept override { return 2; }
  std::span<const float> initial_statistics() const noexcept override { return {}; }
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override;

  const Constants& constants() const noexcept override { return constants_; }
  optim::Projection set() const override;
  std::vector<float> start() const override;
  double excess(std::span<const float> x) const override;
  double reachable_excess() const override { return excess(start()); }
  void expected_gradient(std::span<const float> x, std::span<double> out) const override;

 private:
  std::span<const double> feature(std::size_t index) const;

  LogisticOptions options_;
  std::vector<double> features_;       // one after the other
  std::vector<double> true_products_;  // <a, x_0> of each
  Constants constants_;
};

}  // namespace ballast::verify
