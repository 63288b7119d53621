#pragma once
// Keeping the nearest rows up to a given weight, splitting the last one: the step that ctma, krum,
// multikrum and nnm share.

#include <span>

#include "ballast/kernels/weights.h"
#include "ballast/robust/workspace.h"

namespace ballast::robust {

// Sums of weights are compared with thresholds such as (1 - lambda) * total, where lambda is a
// decimal that a double cannot hold exactly; sums this close to a threshold count as reaching it.
inline constexpr double kShareTolerance = 1e-12;

// Takes rows in order of distance (ties by row number) until their shares of the total weight add
// up to `share`, the last one in part. Writes to kept[i] the fraction of row i that was taken.
void keep_nearest(std::span<const double> distances, const kernels::Weights& weights, double share,
                  Workspace& workspace, std::span<double> kept);

// The weighted mean of what was kept: coefficients proportional to kept[i] * weight_i.
void kept_mean(std::span<const double> kept, const kernels::Weights& weights,
               std::span<double> coefficients);

}  // namespace ballast::robust
