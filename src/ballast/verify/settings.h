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

// Noise of both kinds.
LeastSquares noisy_least_squares();

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
