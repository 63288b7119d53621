#pragma once
// The attacks "little" and "empire" with the factor that does the server's own rule the most harm,
// found by trying a few: what ByzFL calls optimal attacks.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// The factors that are tried: largest, largest / 2, largest / 4, ..., `steps` of them.
struct FactorGrid {
  double largest = 1.0;
  std::size_t steps = 1;
};

// The squared distance between the direction that the server would take after this update and the
// honest mean; nothing where it would take none.
std::optional<double> harm_of(std::span<const float> update, std::span<const float> honest_mean,
                              ServerPreview& preview);

// Sends the honest mean minus z deviations with the z of the grid whose harm is the largest, the
// smallest z of several. Where no z leads to a step, z is that of "little".
//
// Requires, for both: a positive, finite factor and at least one step.
// Cost: as many previews as there are steps, at each of its updates.
AttackPointer make_little_search(const FactorGrid& grid);

// The same with -epsilon times the honest mean, epsilon being 0.1 where none leads to a step.
AttackPointer make_empire_search(const FactorGrid& grid);

}  // namespace ballast::attacks
