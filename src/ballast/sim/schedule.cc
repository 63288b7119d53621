#include "ballast/sim/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "ballast/sim/purpose.h"

namespace ballast::sim {
namespace {

using expression::Arguments;
using expression::Parameter;
using ArrivalItem = expression::Item<ArrivalPattern>;

template <ScheduleKind kind>
Result<ArrivalPattern> make_pattern(const Arguments&) {
  return ArrivalPattern{.kind = kind};
}

constexpr ArrivalItem kUniform = {
    {.name = "uniform", .help = "the next worker is drawn, all alike"},
    make_pattern<ScheduleKind::kUniform>};
constexpr ArrivalItem kId = {
    {.name = "id",
     .help = "drawn in proportion to the worker's id, counted from 1 among honest and Byzantine",
     .paper = "Dahan and Levy 2024"},
    make_pattern<ScheduleKind::kId>};
constexpr ArrivalItem kIdSquared = {{.name = "id^2",
                                     .help = "drawn in proportion to the square of the id",
                                     .paper = "Dahan and Levy 2024"},
                                    make_pattern<ScheduleKind::kIdSquared>};
constexpr ArrivalItem kRoundRobin = {{.name = "round-robin", .help = "in turn"},
                                     make_pattern<ScheduleKind::kRoundRobin>};

constexpr Parameter kBurstParameters[] = {
    Parameter::whole("length", "Byzantine updates in a row").from(1).otherwise(10)};
constexpr ArrivalItem kBurst = {{.name = "burst",
                                 .help = "as uniform, but the Byzantine updates come in bursts",
                                 .parameters = kBurstParameters},
                                [](const Arguments& arguments) -> Result<ArrivalPattern> {
                                  return ArrivalPattern{.kind = ScheduleKind::kBurst,
                                                        .burst_length = arguments.whole("length")};
                                }};

constexpr ArrivalItem kTrace = {
    {.name = "trace", .help = "the workers that the file `trace` lists, over and over"},
    make_pattern<ScheduleKind::kTrace>};

constexpr Parameter kFloodParameters[] = {
    Parameter::number("rate", "updates of a Byzantine worker for each of an honest one")
        .from(kFloodRateMin)
        .up_to(kFloodRateMax)
        .otherwise(10)};
constexpr ArrivalItem kFlood = {
    {.name = "flood",
     .help = "as uniform, but each Byzantine worker sends rate times as often as an honest one, "
             "whatever `share` says",
     .parameters = kFloodParameters},
    [](const Arguments& arguments) -> Result<ArrivalPattern> {
      return ArrivalPattern{.kind = ScheduleKind::kFlood, .flood_rate = arguments.number("rate")};
    }};

// One line per pattern, in the order of ScheduleKind.
constexpr const ArrivalItem* kItems[] = {
    &kUniform, &kId, &kIdSquared, &kRoundRobin, &kBurst, &kTrace, &kFlood,
};

std::vector<std::uint64_t> cumulative_weights(ScheduleKind kind, std::size_t count) {
  std::vector<std::uint64_t> sums;
  std::uint64_t sum = 0;
  for (std::uint64_t id = 1; id <= count; ++id) sums.push_back(sum += draw_weight(kind, id));
  return sums;
}

Status check_trace(std::span<const std::uint32_t> trace, std::size_t worker_count) {
  if (trace.empty()) return invalid_argument("the trace is empty; it must name a worker at least");
  const auto stranger = std::ranges::find_if(
      trace, [worker_count](std::uint32_t worker) { return worker >= worker_count; });
  if (stranger == trace.end()) return {};
  return invalid_argument(fmt::format("arrival {} of the trace names worker {}; they are 0 to {}",
                                      stranger - trace.begin() + 1, *stranger, worker_count - 1));
}

}  // namespace

std::string_view name(ScheduleKind kind) noexcept {
  return kItems[static_cast<std::size_t>(kind)]->entry.name;
}

const expression::Registry<ArrivalPattern>& arrival_registry() {
  static const expression::Registry<ArrivalPattern> registry(
      {.noun = "arrival pattern", .plural = "arrivals", .example = "id^2 or burst(10)"}, kItems);
  return registry;
}

Result<ArrivalPattern> parse_arrivals(std::string_view text) {
  return arrival_registry().parse(text);
}

std::uint64_t draw_weight(ScheduleKind kind, std::uint64_t id) noexcept {
  if (kind == ScheduleKind::kId) return id;
  return kind == ScheduleKind::kIdSquared ? id * id : 1;
}

Status validate(const Population& workers, const Share& share) {
  if (workers.honest == 0) return invalid_argument("a cluster needs at least one honest worker");
  if (workers.honest > kWorkersMax || workers.byzantine > kWorkersMax - workers.honest) {
    return invalid_argument(fmt::format("{} honest and {} Byzantine workers are more than {}",
                                        workers.honest, workers.byzantine, kWorkersMax));
  }
  if (workers.byzantine == 0 && !share.is_zero()) {
    return invalid_argument(fmt::format(
        "a share of {} needs a Byzantine worker; add one or set the share to 0", share.value()));
  }
  return {};
}

double share_of_flood(const Population& workers, double rate) {
  const double byzantine = rate * static_cast<double>(workers.byzantine);
  return byzantine / (byzantine + static_cast<double>(workers.honest));
}

Result<Schedule> Schedule::make(ScheduleOptions options) {
  const bool is_trace = options.kind == ScheduleKind::kTrace;
  if (is_trace) options.share = 0.0;
  if (options.kind == ScheduleKind::kFlood && options.workers.honest > 0) {
    if (!(options.flood_rate >= kFloodRateMin && options.flood_rate <= kFloodRateMax)) {
      return invalid_argument(fmt::format("the rate of a flood is {}; it must be in [{}, {}]",
                                          options.flood_rate, kFloodRateMin, kFloodRateMax));
    }
    options.share = share_of_flood(options.workers, options.flood_rate);
  }
  BALLAST_TRY(const Share share, Share::make(options.share));
  BALLAST_TRY_STATUS(validate(options.workers, share));
  if (is_trace) BALLAST_TRY_STATUS(check_trace(options.trace, options.workers.total()));
  if (options.burst_length == 0) return invalid_argument("a burst has at least one arrival, not 0");
  return Schedule(std::move(options), share);
}

Schedule::Schedule(ScheduleOptions options, Share share)
    : options_(std::move(options)),
      share_(share),
      honest_{.first = 0,
              .weights_up_to = cumulative_weights(options_.kind, options_.workers.honest),
              .rng = stream(SimPurpose::kHonestSender, options_.seed)},
      byzantine_{.first = static_cast<std::uint32_t>(options_.workers.honest),
                 .weights_up_to = cumulative_weights(options_.kind, options_.workers.byzantine),
                 .rng = stream(SimPurpose::kByzantineSender, options_.seed)} {}

std::uint32_t Schedule::next() {
  if (options_.kind == ScheduleKind::kTrace) {
    return options_.trace[arrivals_++ % options_.trace.size()];
  }
  return sender(is_byzantine_next() ? byzantine_ : honest_);
}

// Without bursts every burst is one arrival long, sent as soon as it is due. A burst ends with
// fewer arrivals due than it is long, because at most one falls due while one is sent.
bool Schedule::is_byzantine_next() {
  const std::uint64_t burst =
      options_.kind == ScheduleKind::kBurst ? options_.burst_length : std::size_t{1};
  const std::uint64_t due = share_.floor_of(++arrivals_) - byzantine_arrivals_;
  if (due >= burst && burst_left_ == 0) burst_left_ = burst;
  if (burst_left_ == 0) return false;
  --burst_left_;
  ++byzantine_arrivals_;
  return true;
}

std::uint32_t Schedule::sender(Group& group) const {
  const auto& sums = group.weights_up_to;
  if (options_.kind == ScheduleKind::kRoundRobin) {
    return group.first + static_cast<std::uint32_t>(group.turns++ % sums.size());
  }
  const auto drawn = std::ranges::upper_bound(sums, group.rng.below(sums.back()));
  return group.first + static_cast<std::uint32_t>(drawn - sums.begin());
}

Result<std::vector<Arrival>> draw_arrivals(const ScheduleOptions& options, std::size_t count) {
  if (count > kArrivalsMax) {
    return invalid_argument(fmt::format("{} arrivals are more than {}", count, kArrivalsMax));
  }
  BALLAST_TRY(Schedule schedule, Schedule::make(options));
  std::vector<Arrival> arrivals(count);
  Instant now = Instant::zero();
  for (Arrival& arrival : arrivals) {
    arrival = {.worker = schedule.next(), .at = now += std::chrono::seconds(1)};
  }
  return arrivals;
}

}  // namespace ballast::sim
