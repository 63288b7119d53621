#include "ballast/optim/projection.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ballast/kernels/finite.h"

namespace ballast::optim {
namespace {

Status check(const NoProjection&, std::size_t) { return {}; }

Status check(const Box& box, std::size_t) {
  if (std::isfinite(box.low) && std::isfinite(box.high) && box.low <= box.high) return {};
  return invalid_argument(
      fmt::format("the box [{}, {}] is empty or not bounded", box.low, box.high));
}

Status check(const Ball& ball, std::size_t dim) {
  if (!(ball.radius > 0.0) || !std::isfinite(ball.radius)) {
    return invalid_argument(
        fmt::format("the radius is {}; it must be positive and finite", ball.radius));
  }
  if (!ball.centre.empty() && ball.centre.size() != dim) {
    return invalid_argument(fmt::format("the centre of the ball has {} coordinates, the model {}",
                                        ball.centre.size(), dim));
  }
  if (!kernels::all_finite(ball.centre)) return invalid_argument("the ball's centre is not finite");
  return {};
}

template <typename Real>
void move(const NoProjection&, std::span<Real>) noexcept {}

template <typename Real>
void move(const Box& box, std::span<Real> point) noexcept {
  for (Real& value : point) {
    value = static_cast<Real>(std::clamp(static_cast<double>(value), box.low, box.high));
  }
}

// Calls visit(value, centre of its coordinate) for each coordinate.
template <typename Real, typename Visit>
void for_each_coordinate(const Ball& ball, std::span<Real> point, Visit visit) noexcept {
  for (std::size_t j = 0; j < point.size(); ++j) {
    visit(point[j], ball.centre.empty() ? 0.0 : ball.centre[j]);
  }
}

// Divides by the largest difference first: its square alone could overflow.
template <typename Real>
double distance_to_centre(const Ball& ball, std::span<Real> point) noexcept {
  double largest = 0.0;
  for_each_coordinate(ball, point, [&](Real value, double centre) {
    largest = std::max(largest, std::abs(value - centre));
  });
  if (largest == 0.0) return 0.0;
  double sum = 0.0;
  for_each_coordinate(ball, point, [&](Real value, double centre) {
    const double scaled = (value - centre) / largest;
    sum += scaled * scaled;
  });
  return largest * std::sqrt(sum);
}

template <typename Real>
void move(const Ball& ball, std::span<Real> point) noexcept {
  const double distance = distance_to_centre(ball, point);
  if (!(distance > ball.radius)) return;
  const double shrink = ball.radius / distance;
  for_each_coordinate(ball, point, [&](Real& value, double centre) {
    value = static_cast<Real>(centre + (value - centre) * shrink);
  });
}

}  // namespace

Status validate(const Projection& projection, std::size_t dim) {
  return std::visit([dim](const auto& set) { return check(set, dim); }, projection);
}

template <typename Real>
void project(const Projection& projection, std::span<Real> point) {
  std::visit([point](const auto& set) { move(set, point); }, projection);
}

template void project(const Projection&, std::span<float>);
template void project(const Projection&, std::span<double>);

}  // namespace ballast::optim
