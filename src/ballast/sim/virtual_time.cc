#include "ballast/sim/virtual_time.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "ballast/sim/purpose.h"

namespace ballast::sim {
namespace {

constexpr double kFactorMin = 1e-6, kFactorMax = 1e6;
constexpr double kSigmaMax = 3.0;
constexpr double kNanosecondsPerSecond = 1e9;
constexpr double kNanosecondsMax = 1e17;  // three years; keeps sums far from overflow

using expression::Arguments;
using expression::Parameter;
using ComputeTimeItem = expression::Item<ComputeTime>;

constexpr ComputeTimeItem kConstant = {
    {.name = "constant", .help = "always the mean"},
    [](const Arguments&) -> Result<ComputeTime> { return ComputeTime{}; }};
constexpr ComputeTimeItem kExponential = {
    {.name = "exponential", .help = "exponential around the mean"},
    [](const Arguments&) -> Result<ComputeTime> {
      return ComputeTime{.distribution = Distribution::kExponential};
    }};

constexpr Parameter kLognormalParameters[] = {
    Parameter::number("sigma", "the deviation of the logarithm")
        .from(0)
        .up_to(kSigmaMax)
        .otherwise(ComputeTime{}.sigma)};
constexpr ComputeTimeItem kLognormal = {
    {.name = "lognormal",
     .help = "lognormal around the mean: now and then a time is long",
     .parameters = kLognormalParameters},
    [](const Arguments& arguments) -> Result<ComputeTime> {
      return ComputeTime{.distribution = Distribution::kLognormal,
                         .sigma = arguments.number("sigma")};
    }};

// One line per distribution, in the order of Distribution.
constexpr const ComputeTimeItem* kItems[] = {
    &kConstant,
    &kExponential,
    &kLognormal,
};

Status validate(const VirtualTimeOptions& options) {
  BALLAST_TRY(const Share share, Share::make(options.byzantine_factor ? 0.0 : options.share));
  BALLAST_TRY_STATUS(validate(options.workers, share));
  if (options.speed > ScheduleKind::kIdSquared) {
    return invalid_argument(
        fmt::format(R"(virtual time has no speeds for "{}"; use "uniform", "id" or "id^2")",
                    name(options.speed)));
  }
  if (!(options.sigma >= 0.0 && options.sigma <= kSigmaMax)) {
    return invalid_argument(
        fmt::format("sigma is {}; it must be in [0, {}]", options.sigma, kSigmaMax));
  }
  const double factor = options.byzantine_factor.value_or(1.0);
  if (factor >= kFactorMin && factor <= kFactorMax) return {};
  return invalid_argument(
      fmt::format("the factor on Byzantine speeds is {}; it must be in [{}, {}]", factor,
                  kFactorMin, kFactorMax));
}

double total_speed(ScheduleKind kind, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t id = 1; id <= count; ++id) sum += draw_weight(kind, id);
  return static_cast<double>(sum);
}

std::vector<double> speeds(const VirtualTimeOptions& options) {
  std::vector<double> result;
  for (std::uint64_t id = 1; id <= options.workers.honest; ++id) {
    result.push_back(static_cast<double>(draw_weight(options.speed, id)));
  }
  const double factor = options.workers.byzantine == 0 ? 0.0 : byzantine_factor(options);
  for (std::uint64_t id = 1; id <= options.workers.byzantine; ++id) {
    result.push_back(factor * static_cast<double>(draw_weight(options.speed, id)));
  }
  return result;
}

// A time of mean 1.
double draw_unit(const VirtualTimeOptions& options, Rng& rng) {
  switch (options.distribution) {
    case Distribution::kConstant:
      return 1.0;
    case Distribution::kExponential:
      return -std::log(1.0 - rng.uniform());
    case Distribution::kLognormal:
      return std::exp(options.sigma * (rng.normal() - options.sigma / 2.0));
  }
  return 1.0;
}

// One worker's compute times.
class Stopwatch {
 public:
  Stopwatch(const VirtualTimeOptions& options, std::uint32_t worker, double speed)
      : options_(&options),
        mean_(kNanosecondsPerSecond / speed),
        rng_(stream(SimPurpose::kComputeTime, options.seed, worker)) {}

  Instant next() {
    const double nanoseconds = std::min(mean_ * draw_unit(*options_, rng_), kNanosecondsMax);
    return Instant(std::max<Instant::rep>(std::llround(nanoseconds), 1));
  }

 private:
  const VirtualTimeOptions* options_;
  double mean_;
  Rng rng_;
};

}  // namespace

std::string_view name(Distribution distribution) noexcept {
  return kItems[static_cast<std::size_t>(distribution)]->entry.name;
}

const expression::Registry<ComputeTime>& compute_time_registry() {
  static const expression::Registry<ComputeTime> registry(
      {.noun = "compute time", .plural = "compute times", .example = "constant or lognormal(0.5)"},
      kItems);
  return registry;
}

Result<ComputeTime> parse_compute_time(std::string_view text) {
  return compute_time_registry().parse(text);
}

double byzantine_factor(const VirtualTimeOptions& options) {
  if (options.byzantine_factor) return *options.byzantine_factor;
  const double honest = total_speed(options.speed, options.workers.honest);
  const double byzantine = total_speed(options.speed, options.workers.byzantine);
  const double share = Share::make(options.share)->value();
  return share / (1.0 - share) * honest / byzantine;
}

Result<std::vector<Arrival>> draw_arrivals(const VirtualTimeOptions& options, std::size_t count) {
  if (count > kArrivalsMax) {
    return invalid_argument(fmt::format("{} arrivals are more than {}", count, kArrivalsMax));
  }
  BALLAST_TRY_STATUS(validate(options));
  using Event = std::pair<Instant, std::uint32_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<Stopwatch> watches;
  for (const double speed : speeds(options)) {
    const auto worker = static_cast<std::uint32_t>(watches.size());
    watches.emplace_back(options, worker, speed);
    if (speed > 0.0) events.emplace(watches[worker].next(), worker);
  }
  std::vector<Arrival> arrivals(count);
  for (Arrival& arrival : arrivals) {
    const auto [now, worker] = events.top();
    events.pop();
    arrival = {.worker = worker, .at = now};
    events.emplace(now + watches[worker].next(), worker);
  }
  return arrivals;
}

}  // namespace ballast::sim
