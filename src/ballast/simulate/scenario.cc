#include "ballast/simulate/scenario.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"
#include "ballast/robust/registry.h"
#include "ballast/simulate/purpose.h"

namespace ballast::simulate {
namespace {

using std::chrono_literals::operator""ms;  // NOLINT(misc-unused-using-decls): literals use it
using std::chrono_literals::operator""s;   // NOLINT(misc-unused-using-decls): literals use it

constexpr std::uint64_t kGapsMax[] = {80, 250, 800};  // events between two disturbances

constexpr const char* kWeights[] = {"f-cap(1, 0.2)", "f-cap(1, 0.25)",
                                    "f-cap(1, 0.3)", "f-cap(2, 0.34)",
                                    "f-cap(2, 0.4)", "f-cap(1, 0.2) & f-cap(2, 0.35)"};
// Beside the rules of the paper: what a network is given by default, a rule that remembers its last
// result, and one that draws random numbers.
constexpr const char* kRules[] = {"cwmed",
                                  "gm",
                                  "ctma(gm, 0.3)",
                                  "ctma(cwmed, 0.4)",
                                  "mean",
                                  "distinct(ctma(gm, 0.2))",
                                  "cclip(previous, 1)",
                                  "bucketing(cwmed, 2)"};

// Every method that is not the table, with what makes a little state go far: short histories, few
// buffers, frequent changes.
constexpr const char* kMethods[] = {"asgd",
                                    "delay-adaptive",
                                    "delay-adaptive(drop, concurrency=3)",
                                    "picky(0.5, history=6)",
                                    "fedbuff(3)",
                                    "throttle(1.5, 10, 1)",
                                    "kardam(1)",
                                    "kardam(1, exponential, reference=accepted, history=5)",
                                    "basgd(2, gm)",
                                    "basgd(3, cwmed, reassign=8)",
                                    "basgdm(3, bucketing(cwmed, 2), reassign=12)",
                                    "zeno++(every=4)",
                                    "aflguard(radius=2, every=3)"};

template <typename List>
auto pick(const List& list, Rng& rng) {
  return list[rng.below(std::size(list))];
}

Instant between(Instant low, Instant high, Rng& rng) {
  return low + Instant(rng.below(static_cast<std::uint64_t>((high - low).count())));
}

void draw_policy(Scenario& scenario, IsAllowed is_allowed, Rng& rng) {
  do {
    scenario.workers = 4 + rng.below(7);
    scenario.weights = pick(kWeights, rng);
    scenario.policy = server::parse_weight_policy(scenario.weights).value();
  } while (!server::validate(scenario.policy, scenario.workers) ||
           !is_allowed(scenario.policy, scenario.workers));
}

// Of half of the runs with a rule that allows it.
std::uint64_t draw_past(const std::string& rule, Rng& rng) {
  const bool has_past = rng.below(2) == 0;
  const std::uint64_t past = 3 + rng.below(18);
  return has_past && robust::parse_rule(rule).value()->has_coefficients() ? past : 0;
}

DisturbanceKind draw_kind(Rng& rng) {
  return static_cast<DisturbanceKind>(rng.below(kDisturbanceKindCount));
}

}  // namespace

std::string_view name(DisturbanceKind kind) noexcept {
  constexpr std::array<std::string_view, kDisturbanceKindCount> kNames = {
      "break-stream", "forget",    "cut-off",      "stall",  "kill", "power-loss", "die-at-write",
      "disk-error",   "disk-full", "journal-full", "damage", "stop", "enrol",      "revoke"};
  return kNames[static_cast<std::size_t>(kind)];
}

Scenario draw_scenario(std::uint64_t seed, IsAllowed is_allowed) {
  Rng rng({.seed = seed, .purpose = kPurposeScenario});
  Scenario scenario{.seed = seed};
  draw_policy(scenario, is_allowed, rng);
  const std::size_t f = server::widest_cap(scenario.policy)->f;
  scenario.lead = {.f = f};
  scenario.hostile.resize(f);
  for (Habit& habit : scenario.hostile) habit = static_cast<Habit>(rng.below(kHabitCount));
  scenario.dim = 2 + rng.below(12);
  scenario.statistic_count = rng.below(3);
  scenario.rule = pick(kRules, rng);
  scenario.averages = rng.below(2) == 0;
  scenario.checkpoint_every = 5 + rng.below(26);
  scenario.unsaved_max = scenario.checkpoint_every * (1 + rng.below(3));
  scenario.tick = 500ms;
  scenario.silence_max = between(6s, 30s, rng);
  const bool is_calm = rng.below(4) == 0;
  scenario.network = {.drop = is_calm ? 0.0 : 0.02 * rng.uniform(),
                      .repeat = is_calm ? 0.0 : 0.05 * rng.uniform(),
                      .reorder = is_calm ? 0.0 : 0.05 * rng.uniform(),
                      .delay = between(1ms, 200ms, rng)};
  scenario.free_places = rng.below(2) * kGrowth;
  scenario.past = draw_past(scenario.rule, rng);
  if (rng.below(2) == 0) scenario.method = pick(kMethods, rng);
  return scenario;
}

std::vector<Disturbance> draw_disturbances(std::uint64_t seed, std::uint64_t events,
                                           std::size_t workers) {
  std::vector<Disturbance> disturbances;
  Rng rng({.seed = seed, .purpose = kPurposeDisturbances});
  const std::uint64_t gap_max = pick(kGapsMax, rng);
  for (std::uint64_t event = 0;;) {
    event += 1 + rng.below(gap_max);
    if (event >= events) return disturbances;
    disturbances.push_back({.kind = draw_kind(rng),
                            .event = event,
                            .worker = static_cast<std::uint32_t>(rng.below(workers + kGrowth)),
                            .change = 1 + rng.below(60),
                            .length = between(200ms, 40s, rng)});
  }
}

std::string describe(const Scenario& scenario) {
  const std::string method = scenario.has_table() ? fmt::format("{}, {}, past {}", scenario.weights,
                                                                scenario.rule, scenario.past)
                                                  : scenario.method;
  return fmt::format(
      "seed {}: {} workers, {} hostile, {}, {}, {} values, {} statistics, "
      "checkpoint every {} of at most {} unsaved, silence {:.1f} s",
      scenario.seed, scenario.workers, scenario.hostile.size(), method,
      scenario.averages ? "mu2" : "sgd", scenario.dim, scenario.statistic_count,
      scenario.checkpoint_every, scenario.unsaved_max,
      std::chrono::duration<double>(scenario.silence_max).count());
}

std::string describe(const Disturbance& disturbance) {
  return fmt::format("{} (worker {}, change {}, {:.1f} s)", name(disturbance.kind),
                     disturbance.worker, disturbance.change,
                     std::chrono::duration<double>(disturbance.length).count());
}

}  // namespace ballast::simulate
