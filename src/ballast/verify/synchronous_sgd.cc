#include "ballast/verify/synchronous_sgd.h"

#include <utility>
#include <vector>

#include "ballast/optim/projection.h"
#include "ballast/robust/registry.h"
#include "ballast/verify/rows_of_numbers.h"
#include "ballast/verify/trial.h"

namespace ballast::verify {
namespace {

// d = g(x) + (1 - 1/r) (d - g(x before)), both gradients on one sample.
Status refresh(Problem& problem, const worker::Sample& sample, const std::vector<float>& x,
               const std::vector<float>& x_before, DoubleVector& d) {
  const double round = static_cast<double>(sample.key.step);
  std::vector<float> g(x.size()), g_before(x.size());
  BALLAST_TRY([[maybe_unused]] const double loss, problem.gradient(x, sample, g, {}));
  BALLAST_TRY([[maybe_unused]] const double loss_before,
              problem.gradient(x_before, sample, g_before, {}));
  for (std::size_t j = 0; j < d.size(); ++j) {
    d[j] = g[j] + (1.0 - 1.0 / round) * (d[j] - g_before[j]);
  }
  return {};
}

}  // namespace

Result<double> synchronous_excess(Problem& problem, const SynchronousOptions& options) {
  BALLAST_TRY(const auto rule, robust::parse_rule(options.rule));
  const std::size_t count = options.workers.total();
  const double eta = theory_eta(problem, options.rounds);
  RuleBench bench;
  std::vector<float> w = problem.start(), x = w, x_before = w;
  std::vector<DoubleVector> estimates(count, DoubleVector(w.size()));
  for (std::uint64_t round = 1; round <= options.rounds; ++round) {
    WeightedRows table{.rows = {}, .weights = DoubleVector(count, 1.0)};
    for (std::uint32_t i = 0; i < count; ++i) {
      const worker::Sample sample{.key = {.seed = options.seed, .worker = i, .step = round}};
      BALLAST_TRY_STATUS(refresh(problem, sample, x, x_before, estimates[i]));
      table.rows.push_back(estimates[i]);
      if (!options.workers.is_byzantine(i)) continue;
      for (double& value : table.rows.back()) value = -value;
    }
    BALLAST_TRY(const DoubleVector direction, bench.apply(*rule, table));
    const double t = static_cast<double>(round);
    for (std::size_t j = 0; j < w.size(); ++j) {
      w[j] = static_cast<float>(w[j] - eta * t * direction[j]);
    }
    optim::project<float>(problem.set(), w);
    x_before = x;
    for (std::size_t j = 0; j < w.size(); ++j) {
      x[j] = static_cast<float>(x[j] + 2.0 / (t + 2.0) * (double{w[j]} - x[j]));
    }
  }
  return problem.excess(x);
}

}  // namespace ballast::verify
