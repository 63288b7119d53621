#include "ballast/verify/asynchronous_sgd.h"

#include <algorithm>
#include <cmath>

#include "ballast/optim/projection.h"
#include "ballast/verify/runs.h"

namespace ballast::verify {
namespace {

Result<double> run_sgd(Problem& problem, const TrialOptions& options) {
  const Constants& constants = problem.constants();
  const double workers = static_cast<double>(options.workers.total());
  const double horizon = static_cast<double>(options.updates);
  const double eta = std::min(1.0 / (4.0 * constants.smoothness * workers),
                              constants.diameter / (constants.deviation * std::sqrt(horizon)));
  const optim::Projection set = problem.set();
  std::vector<float> w = problem.start(), gradient(w.size());
  std::vector<double> sum(w.size());
  std::vector<std::vector<float>> given(options.workers.total(), w);
  std::vector<std::uint64_t> counts(given.size());
  BALLAST_TRY(const auto arrivals, arrivals_of(options));
  for (const auto& [worker, at] : arrivals) {
    const worker::Sample sample{
        .key = {.seed = options.seed, .worker = worker, .step = ++counts[worker]}};
    BALLAST_TRY([[maybe_unused]] const double loss,
                problem.gradient(given[worker], sample, gradient, {}));
    for (std::size_t j = 0; j < w.size(); ++j) {
      w[j] = static_cast<float>(w[j] - eta * gradient[j]);
    }
    optim::project<float>(set, w);
    given[worker] = w;
    for (std::size_t j = 0; j < w.size(); ++j) sum[j] += w[j];
  }
  std::ranges::transform(sum, w.begin(),
                         [&](double value) { return static_cast<float>(value / horizon); });
  return problem.excess(w);
}

}  // namespace

Result<RateCurve> measure_asynchronous_sgd(const Lab& lab, Problem& problem,
                                           const TrialOptions& options,
                                           const std::vector<std::uint64_t>& updates,
                                           std::size_t seeds) {
  BALLAST_TRY(const auto excess, run_all(lab, seeds * updates.size(), [&](std::size_t i) {
                TrialOptions trial = options;
                trial.updates = updates[i % updates.size()];
                trial.seed = i / updates.size() + 1;
                return run_sgd(problem, trial);
              }));
  RateCurve curve{.updates = {updates.begin(), updates.end()}};
  for (std::size_t i = 0; i < excess.size(); ++i) {
    if (i % updates.size() == 0) curve.excess.emplace_back();
    curve.excess.back().push_back(excess[i]);
  }
  return curve;
}

}  // namespace ballast::verify
