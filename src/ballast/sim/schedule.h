#pragma once
// Arrival schedules: who sends next. The paper's experiments draw the next sender instead of
// simulating time; the Byzantine share of the arrivals is exact at every moment.
//
// After t arrivals exactly floor(lambda t) were Byzantine. A burst schedule holds Byzantine
// arrivals back and lets them come in unbroken runs: never more than floor(lambda t) of them, and
// fewer by less than the length of a burst. In a flood the share follows from how often each
// Byzantine worker sends. A trace has the share that it has.
//
// Determinism: a schedule is a function of its options.
// Thread-safety: none; one thread owns a schedule.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/base/rng.h"
#include "ballast/expression/registry.h"
#include "ballast/sim/arrival.h"
#include "ballast/sim/share.h"

namespace ballast::sim {

inline constexpr double kFloodRateMin = 1e-3, kFloodRateMax = 1e3;

// How the sender is chosen among the honest workers, and among the Byzantine ones.
enum class ScheduleKind : std::uint8_t {
  kUniform,     // drawn, all alike
  kId,          // drawn with probability proportional to the id, counted from 1 in each group
  kIdSquared,   // the same with the square of the id
  kRoundRobin,  // in turn
  kBurst,       // drawn, all alike; the Byzantine share comes in bursts
  kTrace,       // a given list of workers, over and over
  kFlood,  // drawn, all alike; a Byzantine worker sends so many times as often as an honest one
};

// As the registry has it: "uniform", "id", "id^2", "round-robin", "burst", "trace", "flood".
std::string_view name(ScheduleKind kind) noexcept;

// What a specification's `arrivals` says; a trace comes from a file besides.
struct ArrivalPattern {
  ScheduleKind kind = ScheduleKind::kUniform;
  std::size_t burst_length = 1;  // burst only
  double flood_rate = 1.0;       // flood only: updates of a Byzantine worker for each honest one

  // Whether it says how fast workers are, which virtual time can use.
  bool has_speeds() const noexcept {
    return kind <= ScheduleKind::kIdSquared || kind == ScheduleKind::kFlood;
  }
};

// Every pattern by name.
const expression::Registry<ArrivalPattern>& arrival_registry();

// The pattern that a text such as "id^2" or "burst(10)" names.
Result<ArrivalPattern> parse_arrivals(std::string_view text);

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kUniform;
  Population workers = {};
  double share = 0.0;  // lambda; see Share for what is exact. Traces and floods ignore it
  std::uint64_t seed = 0;
  std::size_t burst_length = 1;        // burst only
  double flood_rate = 1.0;             // flood only
  std::vector<std::uint32_t> trace{};  // trace only
};

// The Byzantine share of the arrivals of a flood.
// Requires: an honest worker, and a positive, finite rate.
double share_of_flood(const Population& workers, double rate);

class Schedule {
 public:
  // Refuses no honest workers, more than kWorkersMax, a share outside [0, 1), a positive share of
  // no Byzantine workers, a burst of length 0, a rate of a flood that is not from kFloodRateMin to
  // kFloodRateMax, and a trace that is empty or names strangers.
  static Result<Schedule> make(ScheduleOptions options);

  // The worker whose update arrives next.
  std::uint32_t next();

 private:
  // One of the two groups, and its draws.
  struct Group {
    std::uint32_t first = 0;
    std::vector<std::uint64_t> weights_up_to{};  // cumulative, by id
    Rng rng;
    std::uint64_t turns = 0;
  };

  Schedule(ScheduleOptions options, Share share);
  bool is_byzantine_next();
  std::uint32_t sender(Group& group) const;

  ScheduleOptions options_;
  Share share_;
  Group honest_;
  Group byzantine_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t byzantine_arrivals_ = 0;
  std::uint64_t burst_left_ = 0;
};

// The first `count` arrivals of the schedule, one per second. Refuses what Schedule::make refuses,
// and more than kArrivalsMax.
Result<std::vector<Arrival>> draw_arrivals(const ScheduleOptions& options, std::size_t count);

// Refuses a population without honest workers or above kWorkersMax, and a positive share of no
// Byzantine workers.
Status validate(const Population& workers, const Share& share);

// The weight that a worker with this id has in a draw of this kind: 1, id or id^2.
std::uint64_t draw_weight(ScheduleKind kind, std::uint64_t id) noexcept;

}  // namespace ballast::sim
