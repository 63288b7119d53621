#pragma once
// Private to verify/: settings that several claims share.

#include <cstdint>
#include <string>
#include <vector>

#include "ballast/verify/least_squares.h"
#include "ballast/verify/trial.h"

namespace ballast::verify {

// 50 coordinates: enough of them make squared errors scatter little from seed to seed.
inline constexpr std::size_t kDim = 50;

// Noise of both kinds, the optimum inside K.
LeastSquares noisy_least_squares();

// The same on the boundary of K, where the gradient of the optimum is 1.
LeastSquares tilted_least_squares();

// Linear, so that delays do no harm, with the optimum on the boundary and this noise. A linear
// function is L-smooth for every L: a small one makes the theorem's step long.
LeastSquares linear_problem(double noise);

// T^(-1/2) is its rate, and no faster one is possible. Along a curvature h the excess is at most
// about h D^2, and noise s makes it s^2 / (h T): the worst h is s / (D sqrt(T)), and up to T = 10^5
// there is one of about that size.
LeastSquares slow_least_squares();

inline constexpr sim::Population kWorkers{.honest = 6, .byzantine = 3};
inline constexpr sim::ScheduleKind kSchedules[] = {
    sim::ScheduleKind::kRoundRobin, sim::ScheduleKind::kUniform, sim::ScheduleKind::kId,
    sim::ScheduleKind::kIdSquared};

// kWorkers with arrivals by id, Byzantine ones of this share, and ctma(gm) for that share.
TrialOptions attacked_trial(double lambda, const std::string& attack);

// "no attack", or "little, lambda 0.3".
std::string attack_label(double lambda, const std::string& attack);

// c of ctma on gm or cwmed.
double constant_of_ctma(double lambda);

// first, 2 first, 4 first, ..., up to last.
std::vector<std::uint64_t> doublings(std::uint64_t first, std::uint64_t last);

std::vector<double> as_numbers(const std::vector<std::uint64_t>& values);

}  // namespace ballast::verify
