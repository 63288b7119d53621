#pragma once
// The set K that the server keeps its iterates in, and the orthogonal projection onto it.

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::optim {

struct NoProjection {};

// Every coordinate in [low, high].
struct Box {
  double low = -1.0;
  double high = 1.0;
};

// Every point at most `radius` away from the centre in the L2 norm.
struct Ball {
  double radius = 1.0;
  std::vector<double> centre = {};  // empty: the origin
};

using Projection = std::variant<NoProjection, Box, Ball>;

// Refuses an empty or unbounded box, a radius that is not positive and finite, and a centre that is
// not finite or not of `dim` coordinates.
Status validate(const Projection& projection, std::size_t dim);

// Moves the point to the nearest point of the set: idempotent, up to the rounding of Real for the
// ball. The norm is computed without overflow.
//
// Requires: validate(projection, point.size()) holds. Instantiated for float and double.
// Cost: three passes over the point at most; allocates nothing.
template <typename Real>
void project(const Projection& projection, std::span<Real> point);

}  // namespace ballast::optim
