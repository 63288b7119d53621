// Algorithm 2, line by line, along runs of the real server: every theorem about it begins there.

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "ballast/verify/algorithm_watch.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

using Gaps = AlgorithmWatch::Gaps;

constexpr double kLambda = 0.3;
// x is kept in float and is a sum of all w so far: t roundings of 2^-25 at most.
constexpr double kRounding = 1e-6;

struct Line {
  const char* what;
  double Gaps::*gap;
  double limit;
  const char* reason;
};

constexpr Line kLines[] = {
    {"t_B - lambda t", &Gaps::byzantine, 1e-9, "0: Eq. (6)"},
    {"largest |weight - s|", &Gaps::weight, 0.0, "0: line 5"},
    {"rows that changed without an arrival", &Gaps::row, 0.0, "0: line 5"},
    {"largest |d - rule(rows, s)| / |row|", &Gaps::direction, kRounding, "line 7, rounding"},
    {"largest |w - Pi(w - eta t d)| / D", &Gaps::step, kRounding, "line 7, rounding"},
    {"largest |x - sum t w / sum t| / D", &Gaps::average, kRounding, "line 7, rounding"},
    {"largest |reply - x_t| / D", &Gaps::reply, 0.0, "0: line 8"},
};

Result<Gaps> measure(const Lab& lab, Problem& problem, bool is_ctma, std::uint64_t seed) {
  TrialOptions trial = attacked_trial(kLambda, "sign-flip");
  trial.rule = is_ctma ? fmt::format("ctma(cwmed, {})", kLambda) : "cwmed";
  trial.updates = lab.pick(400, 1000);
  trial.seed = seed;
  AlgorithmWatch watch(problem, {.workers = trial.workers,
                                 .eta = theory_eta(problem, trial.updates),
                                 .share = kLambda,
                                 .is_ctma = is_ctma});
  sim::Observer* const arrivals[] = {&watch};
  StepObserver* const steps[] = {&watch};
  BALLAST_TRY([[maybe_unused]] const auto result,
              run_trial(problem, trial, lab.components, {.arrivals = arrivals, .steps = steps}));
  return watch.gaps();
}

}  // namespace

Result<Findings> check_algorithm(const Lab& lab) {
  LeastSquares inside = noisy_least_squares(), boundary = tilted_least_squares();
  const std::pair<const char*, Problem*> problems[] = {{"optimum inside", &inside},
                                                       {"optimum on the boundary", &boundary}};
  const std::size_t seeds = lab.pick(3, 20);
  Findings findings;
  for (const auto& [name, problem] : problems) {
    for (const bool is_ctma : {false, true}) {
      BALLAST_TRY(const auto runs, run_all(lab, seeds, [&, problem = problem](std::size_t i) {
                    return measure(lab, *problem, is_ctma, i + 1);
                  }));
      for (const Line& line : kLines) {
        double gap = 0.0;
        for (const Gaps& gaps : runs) gap = std::max(gap, gaps.*line.gap);
        findings.checks.push_back(
            {.what = fmt::format("{}, {}: {}", name, is_ctma ? "ctma(cwmed)" : "cwmed", line.what),
             .measured = Estimate::exactly(gap),
             .limit = line.limit,
             .reason = line.reason});
      }
    }
  }
  return findings;
}

}  // namespace ballast::verify
