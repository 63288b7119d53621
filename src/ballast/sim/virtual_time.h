#pragma once
// Arrivals by virtual time: each worker computes for a random time, sends, and starts anew at once.
// The Byzantine share is then what the speeds make of it, recorded and not exact.
//
// A worker's mean time is one second divided by its speed: 1, its id or its id squared, ids
// counting from 1 in each group. Byzantine speeds are multiplied by one factor more.
//
// Determinism: a function of the options; times do not depend on what is computed.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/expression/registry.h"
#include "ballast/sim/arrival.h"
#include "ballast/sim/schedule.h"

namespace ballast::sim {

// How one worker's times scatter around their mean.
enum class Distribution : std::uint8_t { kConstant, kExponential, kLognormal };

// As the registry has it: "constant", "exponential", "lognormal".
std::string_view name(Distribution distribution) noexcept;

// What a specification's `compute_time` says.
struct ComputeTime {
  Distribution distribution = Distribution::kConstant;
  double sigma = 0.5;  // lognormal only: deviation of the logarithm
};

// Every distribution by name.
const expression::Registry<ComputeTime>& compute_time_registry();

// The compute time that a text such as "exponential" or "lognormal(0.5)" names.
Result<ComputeTime> parse_compute_time(std::string_view text);

struct VirtualTimeOptions {
  Population workers = {};
  ScheduleKind speed = ScheduleKind::kUniform;  // kUniform, kId or kIdSquared
  Distribution distribution = Distribution::kExponential;
  double sigma = 0.5;  // lognormal only: deviation of the logarithm
  // Without a factor, Byzantine workers are as fast as makes this share of the arrivals theirs in
  // the long run; not at all if it is 0.
  double share = 0.0;
  std::optional<double> byzantine_factor = std::nullopt;
  std::uint64_t seed = 0;
};

// The factor on Byzantine speeds: the one given, or the one that makes the share.
// Requires: options that draw_arrivals() accepts, with at least one Byzantine worker.
double byzantine_factor(const VirtualTimeOptions& options);

// The first `count` arrivals in order of (time, worker). Times are whole nanoseconds, at least one.
// Refuses what a schedule refuses, another speed than the three, a factor outside [10^-6, 10^6] and
// a sigma outside [0, 3].
// Cost: O(count log workers).
Result<std::vector<Arrival>> draw_arrivals(const VirtualTimeOptions& options, std::size_t count);

}  // namespace ballast::sim
