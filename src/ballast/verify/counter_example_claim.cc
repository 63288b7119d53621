// What happens without one of the method's parts: the examples that motivate the paper.

#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

// A plateau is told from the theorem's slope of -1/2 by half of that.
constexpr double kRate = -0.5;
constexpr double kPlateau = -0.25;

// The whole method, and the method without one of its parts.
struct CounterExample {
  std::string whole_label, part_label;
  TrialOptions whole, part;
};

// Most workers are Byzantine, but they are slow: 0.3 of the updates come from 6 workers of 10.
CounterExample without_weights() {
  TrialOptions whole = attacked_trial(0.3, "sign-flip");
  whole.workers = {.honest = 4, .byzantine = 6};
  whole.schedule = sim::ScheduleKind::kIdSquared;
  TrialOptions part = whole;
  part.weights = server::UniformWeights{};
  return {"6 of 10 Byzantine, weights are counts", "6 of 10 Byzantine, equal weights", whole, part};
}

CounterExample without_robustness() {
  const TrialOptions whole = attacked_trial(0.3, "scaled");
  TrialOptions part = whole;
  part.rule = "mean";
  return {"scaled, ctma(gm)", "scaled, mean", whole, part};
}

CounterExample without_history() {
  const TrialOptions whole = attacked_trial(0.3, "little");
  TrialOptions part = whole;
  part.estimator = optim::SgdEstimator{};
  return {"little, mu2", "little, plain gradients", whole, part};
}

}  // namespace

Result<Findings> check_counter_examples(const Lab& lab) {
  LeastSquares problem(
      {.dim = kDim, .smallest_curvature = 0.25, .model_noise = 0.3, .constant_noise = 1.0});
  std::vector<RateSetting> settings;
  for (const CounterExample& example :
       {without_weights(), without_robustness(), without_history()}) {
    settings.push_back({.label = example.whole_label, .problem = &problem, .trial = example.whole});
    settings.push_back({.label = example.part_label, .problem = &problem, .trial = example.part});
  }
  BALLAST_TRY(
      const auto curves,
      measure_rates(lab, settings, doublings(500, lab.pick(4000, 16'000)), lab.pick(6, 24)));
  Findings findings;
  records::Figure figure{.stem = "counter-examples",
                         .title = "Where the excess loss stops falling",
                         .x_label = "updates T",
                         .y_label = "f(x_T) - f(x*)"};
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool is_whole = i % 2 == 0;
    findings.checks.push_back({.what = settings[i].label + ": slope in T",
                               .measured = curves[i].slope(),
                               .relation = is_whole ? Relation::kAtMost : Relation::kAtLeast,
                               .limit = is_whole ? kRate : kPlateau,
                               .reason = is_whole ? "-1/2" : "a plateau: half of that"});
    figure.curves.push_back(curves[i].drawn(settings[i].label));
  }
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
