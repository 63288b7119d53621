#include "ballast/simulate/shrink.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace ballast::simulate {
namespace {

class Shrinker {
 public:
  Shrinker(SimulationOptions options, const SimulationReport& report,
           const ServerComponents& components)
      : components_(components), checker_(report.violation->checker), best_(std::move(options)) {
    best_.only = report.happened;
    best_.keeps_trace = false;
  }

  SimulationOptions run() {
    shorten();
    leave_out();
    shorten();
    return best_;
  }

 private:
  // Takes the candidate if the same checker fails.
  bool take(SimulationOptions candidate) {
    const SimulationReport report = simulate(candidate, components_);
    if (!report.violation || report.violation->checker != checker_) return false;
    candidate.only = report.happened;
    candidate.events = std::min(candidate.events, report.events);
    best_ = std::move(candidate);
    return true;
  }

  // The fewest events by bisection, which need not be the fewest of all.
  void shorten() {
    std::uint64_t fails = best_.events, holds = 0;
    while (fails - holds > 1 + fails / 50) {
      SimulationOptions candidate = best_;
      candidate.events = holds + (fails - holds) / 2;
      const std::uint64_t tried = candidate.events;
      if (take(std::move(candidate))) {
        fails = best_.events;
      } else {
        holds = tried;
      }
    }
  }

  // Without pieces of the list, of half its length first and of single ones last.
  void leave_out() {
    for (std::size_t piece = std::max<std::size_t>(best_.only->size() / 2, 1); piece > 0;
         piece /= 2) {
      for (std::size_t at = 0; at < best_.only->size();) {
        SimulationOptions candidate = best_;
        auto& only = *candidate.only;
        const auto first = only.begin() + static_cast<std::ptrdiff_t>(at);
        only.erase(first, first + static_cast<std::ptrdiff_t>(std::min(piece, only.size() - at)));
        if (!take(std::move(candidate))) at += piece;
      }
    }
  }

  const ServerComponents& components_;
  std::string checker_;
  SimulationOptions best_;
};

}  // namespace

Shrunk shrink(const SimulationOptions& options, const SimulationReport& report,
              const ServerComponents& components) {
  Shrunk shrunk{.options = Shrinker(options, report, components).run(), .report = {}};
  SimulationOptions traced = shrunk.options;
  traced.keeps_trace = true;
  shrunk.report = simulate(traced, components);
  return shrunk;
}

std::string repeat_command(const SimulationOptions& options) {
  std::string command =
      fmt::format("ballast simulate --seed {} --events {}", options.seed, options.events);
  if (!options.method.empty()) command += fmt::format(" --method '{}'", options.method);
  if (!options.only) return command;
  command += " --only ";
  if (options.only->empty()) return command + "none";
  for (std::size_t i = 0; i < options.only->size(); ++i) {
    command += fmt::format("{}{}", i > 0 ? "," : "", (*options.only)[i]);
  }
  return command;
}

std::string story(const Shrunk& shrunk, std::size_t lines_max) {
  const SimulationReport& report = shrunk.report;
  std::string text = describe(report.scenario) + "\n";
  const std::size_t count = report.trace.size();
  const std::size_t first = count > lines_max ? count - lines_max : 0;
  if (first > 0) text += fmt::format("({} lines before these)\n", first);
  for (std::size_t i = first; i < count; ++i) text += report.trace[i] + "\n";
  if (report.violation) {
    text += fmt::format("violated: {}: {}\n", report.violation->checker, report.violation->message);
  }
  return text + "repeat it by: " + repeat_command(shrunk.options) + "\n";
}

}  // namespace ballast::simulate
