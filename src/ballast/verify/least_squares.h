#pragma once
// Stochastic least squares on a ball.
//
// A sample z measures each coordinate once: f(x; z) = 1/2 |A x - b|^2 + G x_1 with A^2 = diag(h_j
// (1 + m r_j)) and A b = s u, where r_j is a random sign and u a random vector of mean 0 and E|u|^2
// = 1. So the gradient is h_j (1 + m r_j) x_j - s u_j, plus G in the first coordinate, and f(x) =
// 1/2 sum_j h_j x_j^2 + G x_1 up to a constant. The noise m depends on the model, as that of a
// network does; the noise s remains at the optimum.
//
// K is a ball of radius 1, and the optimum is the origin. Without a tilt G it lies inside K, half a
// radius from the centre; with one it is the point of K where x_1 is least, so G* = G.

#include <cstddef>

#include "ballast/verify/problem.h"

namespace ballast::verify {

struct LeastSquaresOptions {
  std::size_t dim = 10;
  // h_j falls geometrically from the first to the second; both 0: a linear function.
  double largest_curvature = 1.0;
  double smallest_curvature = 1.0;
  double model_noise = 0.0;     // m, in [0, 1]
  double constant_noise = 0.0;  // s
  double tilt = 0.0;            // G
  // The L that is claimed, where it is larger than the true one; a linear function needs one.
  double smoothness = 0.0;
};

class LeastSquares final : public Problem {
 public:
  // Requires: dim >= 1, curvatures in (0, 1] or both 0, noise as above, a positive smoothness.
  explicit LeastSquares(const LeastSquaresOptions& options);

  std::size_t dim() const noexcept override { return curvature_.size(); }
  int class_count() const noexcept override { return 0; }
  std::span<const float> initial_statistics() const noexcept override { return {}; }
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override;

  const Constants& constants() const noexcept override { return constants_; }
  optim::Projection set() const override;
  std::vector<float> start() const override;
  double excess(std::span<const float> x) const override;
  double reachable_excess() const override;
  void expected_gradient(std::span<const float> x, std::span<double> out) const override;

 private:
  std::vector<double> centre() const;

  LeastSquaresOptions options_;
  std::vector<double> curvature_;
  Constants constants_;
};

}  // namespace ballast::verify
