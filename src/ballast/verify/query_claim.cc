// Lemma B.1 and the bias bounds: how far behind the rows are.

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "ballast/verify/claims.h"
#include "ballast/verify/query_watch.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

using Shares = QueryWatch::Shares;

struct Bound {
  const char* what;
  QueryWatch::Share Shares::*share;
  const char* reason;
};

constexpr Bound kBounds[] = {
    {"|x_t - x_t^(i)| over 4 D tau / t", &Shares::distance, "Lemma B.1"},
    {"|x_t - x_t^(i)| over D (1 - alpha_{1:t-tau} / alpha_{1:t})", &Shares::sharp,
     "the proof of Lemma B.1"},
    {"|mean gradient - grad f(x_t)| over 4 tau_max D L / t", &Shares::bias, "Eq. (14)"},
    {"|grad f(x_t^(i)) - mean gradient| over 8 tau_max D L / t", &Shares::worker_bias, "Eq. (15)"},
};

}  // namespace

Result<Findings> check_query_points(const Lab& lab) {
  // The lemmas hold for every sequence of w in K, so it is thrown from one end of K to the other:
  // on a line, with steps that always overshoot.
  LeastSquares problem({.dim = 1});
  Findings findings;
  for (const sim::ScheduleKind schedule : kSchedules) {
    const TrialOptions trial{.workers = {.honest = 8},
                             .schedule = schedule,
                             .updates = lab.pick(4000, 32'000),
                             .eta_factor = 1e9};
    QueryWatch watch(problem, trial.workers);
    sim::Observer* const arrivals[] = {&watch};
    StepObserver* const steps[] = {&watch};
    BALLAST_TRY([[maybe_unused]] const auto result,
                run_trial(problem, trial, lab.components, {.arrivals = arrivals, .steps = steps}));
    for (const Bound& bound : kBounds) {
      const QueryWatch::Share& share = watch.shares().*bound.share;
      findings.checks.push_back(
          {.what = fmt::format("{}: largest {}", sim::name(schedule), bound.what),
           .measured = Estimate::exactly(share.measured),
           .limit = 1.0,
           .reason = bound.reason,
           .possible = {.high = share.possible}});
    }
  }
  return findings;
}

}  // namespace ballast::verify
