#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/ballast/commands.h"
#include "apps/ballast/interrupt.h"
#include "ballast/base/parallel.h"
#include "ballast/methods/registry.h"
#include "ballast/simulate/mutants.h"
#include "ballast/simulate/shrink.h"
#include "ballast/simulate/simulation.h"

namespace ballast::apps {
namespace {

constexpr std::size_t kBatchPerThread = 16;
constexpr std::size_t kStoryLines = 40;
constexpr std::uint64_t kMutantSeedsMax = 1000;

struct SimulateFlags {
  std::optional<std::uint64_t> seed;
  std::uint64_t first = 1;
  std::uint64_t seeds = 200;
  double seconds = 0.0;
  std::uint64_t events = 2000;
  std::string method;
  std::string only;
  bool shows_trace = false;
  bool checks_mutants = false;
  bool does_not_shrink = false;
  std::size_t threads = hardware_threads();

  simulate::SimulationOptions options(std::uint64_t which) const {
    return {.seed = which, .events = events, .method = method};
  }
};

// A broken promise that the program itself notices ends it; then the seed must not be lost.
thread_local volatile std::uint64_t current_seed = 0;

void tell_seed(int signal) {
  constexpr std::string_view kBefore = "ballast: ended while it simulated seed ";
  constexpr std::size_t kDigitsMax = 20;
  char digits[kDigitsMax + 1];
  std::size_t at = kDigitsMax;
  digits[at] = '\n';
  for (std::uint64_t rest = current_seed; at == kDigitsMax || rest > 0; rest /= 10) {
    digits[--at] = static_cast<char>('0' + rest % 10);
  }
  (void)!write(STDERR_FILENO, kBefore.data(), kBefore.size());
  (void)!write(STDERR_FILENO, digits + at, sizeof(digits) - at);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

Result<std::optional<std::vector<std::size_t>>> parse_only(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::vector<std::size_t> numbers;
  if (text == "none") return numbers;
  for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
    std::size_t number = 0;
    const auto [next, failure] = std::from_chars(at, end, number);
    if (failure != std::errc() || (next != end && *next != ',')) {
      return invalid_argument(
          fmt::format("--only is '{}'; write numbers, as in 3,9, or none", text));
    }
    numbers.push_back(number);
    at = next == end ? end : next + 1;
  }
  return numbers;
}

struct Totals {
  std::uint64_t seeds = 0, events = 0, accepted = 0, lives = 0, checkpoints = 0;
  double hours = 0.0;

  void add(const simulate::SimulationReport& report) {
    ++seeds;
    events += report.events;
    accepted += report.accepted;
    lives += report.lives;
    checkpoints += report.checkpoints;
    hours += std::chrono::duration<double, std::ratio<3600>>(report.time).count();
  }
};

// Prints why a seed failed, shrunk if that is asked for.
Status tell_failure(const simulate::SimulationOptions& options,
                    const simulate::SimulationReport& report, const SimulateFlags& flags,
                    int& failure_code) {
  failure_code = kExitFailure;
  const std::string violation =
      fmt::format("seed {} breaks a promise at event {}: {}: {}", options.seed, report.events,
                  report.violation->checker, report.violation->message);
  if (!flags.does_not_shrink) {
    BALLAST_TRY_STATUS(print(simulate::story(simulate::shrink(options, report), kStoryLines)));
  }
  return invalid_argument(
      fmt::format("{}; repeat it by: {}", violation, simulate::repeat_command(options)));
}

Status run_one(const SimulateFlags& flags, int& failure_code) {
  BALLAST_TRY(auto only, parse_only(flags.only));
  simulate::SimulationOptions options = flags.options(*flags.seed);
  options.only = std::move(only);
  options.keeps_trace = flags.shows_trace;
  current_seed = options.seed;
  const simulate::SimulationReport report = simulate::simulate(options);
  std::string text;
  for (const std::string& line : report.trace) text += line + "\n";
  text += fmt::format(
      "{}\n{} events, {:.1f} s simulated, {} updates, {} steps, {} lives, {} checkpoints, hash "
      "{:016x}\n",
      simulate::describe(report.scenario), report.events,
      std::chrono::duration<double>(report.time).count(), report.accepted, report.steps,
      report.lives, report.checkpoints, report.hash);
  BALLAST_TRY_STATUS(print(text));
  return report.violation ? tell_failure(options, report, flags, failure_code) : Status();
}

Status run_many(const SimulateFlags& flags, int& failure_code) {
  const auto& stop = watch_for_interrupt();
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Totals totals;
  const auto is_done = [&] {
    return stop || (flags.seconds > 0.0 ? elapsed() >= flags.seconds : totals.seeds >= flags.seeds);
  };
  while (!is_done()) {
    std::uint64_t batch = kBatchPerThread * flags.threads;
    if (flags.seconds == 0.0) batch = std::min(batch, flags.seeds - totals.seeds);
    std::vector<simulate::SimulationReport> reports(batch);
    const std::uint64_t first = flags.first + totals.seeds;
    parallel_for(flags.threads, batch, [&](std::size_t i) {
      current_seed = first + i;
      reports[i] = simulate::simulate(flags.options(first + i));
    });
    for (std::size_t i = 0; i < batch; ++i) {
      if (reports[i].violation) {
        return tell_failure(flags.options(first + i), reports[i], flags, failure_code);
      }
      totals.add(reports[i]);
    }
  }
  return print(fmt::format(
      "{} seeds from {} on, {} events, {:.1f} simulated hours, {} lives of the server, {} updates, "
      "{} checkpoints: no promise broken, in {:.1f} s\n",
      totals.seeds, flags.first, totals.events, totals.hours, totals.lives, totals.accepted,
      totals.checkpoints, elapsed()));
}

Status run_planted_defects(const SimulateFlags& flags, int& failure_code) {
  const auto mutants = simulate::defect_mutants();
  std::vector<simulate::MutantFinding> findings(mutants.size());
  parallel_for(flags.threads, mutants.size(), [&](std::size_t i) {
    findings[i] = simulate::find_mutant_violation(mutants[i], kMutantSeedsMax, flags.events);
  });
  BALLAST_TRY_STATUS(print(simulate::finding_table(findings)));
  for (const simulate::MutantFinding& finding : findings) {
    if (finding.violation) continue;
    failure_code = kExitFailure;
    return invalid_argument(fmt::format("no checker finds the mutant {}", finding.name));
  }
  return {};
}

Status run_simulations(const SimulateFlags& flags, int& failure_code) {
  if (!flags.method.empty()) BALLAST_TRY_STATUS(methods::method_registry().parse(flags.method));
  std::signal(SIGABRT, tell_seed);
  std::signal(SIGSEGV, tell_seed);
  if (flags.checks_mutants) return run_planted_defects(flags, failure_code);
  return flags.seed ? run_one(flags, failure_code) : run_many(flags, failure_code);
}

}  // namespace

void add_simulate_command(CLI::App& app, Action& action, int& failure_code) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = app.add_subcommand(
      "simulate", "put the whole server through faults and attacks, in virtual time");
  command->footer(
      "\nRuns the server's admission, method, optimizer, journal and checkpoints with honest and\n"
      "hostile workers on a simulated network and disk, and checks its promises at every step.\n"
      "A seed that fails is shrunk and printed with the command that repeats it.\n"
      "Exit code: 0 every promise held, 1 one did not, 2 something is wrong with a flag.");
  command->add_option("--seed", flags->seed, "simulate this one");
  command->add_option("--first", flags->first, "the first of many seeds")->capture_default_str();
  command->add_option("--seeds", flags->seeds, "how many")->capture_default_str();
  command->add_option("--seconds", flags->seconds, "as many as this time allows, instead")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--events", flags->events, "of each simulation")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--method", flags->method,
                      "this one, as in asgd, in place of those that seeds draw");
  command->add_option("--only", flags->only, "of one seed: these disturbances, as in 3,9, or none");
  command->add_flag("--trace", flags->shows_trace, "of one seed: print all that happens");
  command->add_flag("--no-shrink", flags->does_not_shrink, "do not look for a shorter failure");
  command->add_flag("--mutants", flags->checks_mutants,
                    "plant defects and tell which checker finds each, after how many seeds");
  command->add_option("--threads", flags->threads, "that simulate")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}))
      ->capture_default_str();
  command->callback([flags, &action, &failure_code] {
    action = [flags, &failure_code] { return run_simulations(*flags, failure_code); };
  });
}

}  // namespace ballast::apps
