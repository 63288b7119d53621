#pragma once
// One training run of the theory's kind: Algorithm 2 with alpha_t = t, projection onto K and the
// paper's reply, by the real server, workers and schedules.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ballast/attacks/registry.h"
#include "ballast/base/error.h"
#include "ballast/optim/estimator.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/observer.h"
#include "ballast/sim/schedule.h"
#include "ballast/verify/components.h"
#include "ballast/verify/problem.h"
#include "ballast/verify/steps.h"
#include "ballast/verify/theory.h"

namespace ballast::verify {

struct TrialOptions {
  sim::Population workers = {};
  sim::ScheduleKind schedule = sim::ScheduleKind::kUniform;
  double share = 0.0;  // lambda
  // Given: arrivals by virtual time, in which Byzantine workers are this many times as fast as
  // honest ones of the same id; the share is then an outcome.
  std::optional<double> flood = std::nullopt;
  std::string rule = "mean";
  std::string attack = "none";
  server::WeightPolicy weights = server::CountWeights{};
  optim::EstimatorOptions estimator = optim::Mu2Estimator{.beta = optim::HarmonicBeta{}};
  std::size_t updates = 1;  // T
  std::uint64_t seed = 1;   // of samples and arrivals
  double eta_factor = 1.0;  // over the theorem's; some lemmas hold for every step
};

struct TrialResult {
  double excess = 0.0;  // of the model after all updates, x_{T+1}
  std::vector<float> model{};
  std::vector<sim::Arrival> arrivals{};
};

// The theorem's largest step: eta = 1 / (4 L T).
double theory_eta(const Problem& problem, std::size_t updates);

// Borrowed for a run.
struct Watches {
  std::span<sim::Observer* const> arrivals = {};
  std::span<StepObserver* const> steps = {};
};

// The arrivals that a run with these options has.
Result<std::vector<sim::Arrival>> arrivals_of(const TrialOptions& options);

// Runs on the calling thread; errors are those of the parts.
Result<TrialResult> run_trial(Problem& problem, const TrialOptions& options,
                              const Components& components, const Watches& watches = {});

}  // namespace ballast::verify
