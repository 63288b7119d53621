// The attacks against their definitions in the appendix ("Attack Simulations"): theorems hold for
// every attack, so a wrong one would only make them easier.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ballast/verify/claims.h"
#include "ballast/verify/rows_of_numbers.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

constexpr double kLambda = 0.4;
constexpr double kEpsilon = 0.1, kFactor = -10.0;
constexpr double kTolerance = 1e-5;  // rows are float

// x with P(N <= x) = p, by bisection.
double normal_quantile_plainly(double p) {
  double low = -10.0, high = 10.0;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2.0;
    (std::erfc(-middle / std::sqrt(2.0)) / 2.0 < p ? low : high) = middle;
  }
  return low;
}

// Compares each Byzantine row with what the attack is defined to send. The problem has no noise, so
// the worker's own estimate is the gradient at the model that it was given.
class AttackWatch final : public sim::Observer {
 public:
  AttackWatch(const Problem& problem, std::string attack, const sim::Population& workers)
      : problem_(problem),
        attack_(std::move(attack)),
        workers_(workers),
        models_(workers.total(), problem.start()) {}

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override {
    if (record.is_byzantine) {
      byzantine_ += 1.0;
      compare(record.worker, server);
    }
    models_[record.worker] = *record.reply.values;
    return sim::Next::kContinue;
  }

  double gap() const noexcept { return gap_; }

 private:
  void compare(std::uint32_t worker, const server::ParameterServer& server) {
    WeightedRows honest;
    for (std::uint32_t i = 0; i < workers_.honest; ++i) {
      const std::span<const float> row = server.row(i);
      if (row.empty()) continue;
      honest.rows.emplace_back(row.begin(), row.end());
      honest.weights.push_back(static_cast<double>(server.worker(i).count));
    }
    DoubleVector expected(problem_.dim());
    problem_.expected_gradient(models_[worker], expected);
    define(honest, expected);
    const std::span<const float> row = server.row(worker);
    const DoubleVector sent(row.begin(), row.end()), zero(sent.size());
    const double length = std::sqrt(squared_distance(expected, zero));
    gap_ = std::max(gap_, std::sqrt(squared_distance(sent, expected)) / length);
  }

  // Turns the worker's own estimate into what the attack sends.
  void define(const WeightedRows& honest, DoubleVector& update) const {
    const DoubleVector mean = weighted_mean(honest);
    double counts = 0.0;
    for (const double count : honest.weights) counts += count;
    const double majority = std::floor((counts + byzantine_) / 2.0) + 1.0;
    const double supporters = std::min(std::max(majority - byzantine_, 1.0), counts / 2.0);
    const double z = normal_quantile_plainly((counts - supporters) / counts);
    for (std::size_t j = 0; j < update.size(); ++j) {
      double variance = 0.0;
      for (std::size_t i = 0; i < honest.rows.size(); ++i) {
        variance += honest.weights[i] / counts * std::pow(honest.rows[i][j] - mean[j], 2.0);
      }
      if (attack_ == "sign-flip") update[j] = -update[j];
      if (attack_ == "scaled") update[j] = kFactor * update[j];
      if (attack_ == "empire") update[j] = -kEpsilon * mean[j];
      if (attack_ == "little") update[j] = mean[j] - z * std::sqrt(variance);
    }
  }

  const Problem& problem_;
  std::string attack_;
  sim::Population workers_;
  std::vector<std::vector<float>> models_;  // that each worker computes on
  double byzantine_ = 0.0;
  double gap_ = 0.0;
};

std::string expression_of(std::string_view attack) {
  if (attack == "scaled") return fmt::format("scaled({})", kFactor);
  if (attack == "empire") return fmt::format("empire({})", kEpsilon);
  return std::string(attack);
}

}  // namespace

Result<Findings> check_attacks(const Lab& lab) {
  // Curvatures that differ, so that honest rows of different age do.
  LeastSquares problem({.dim = kDim, .smallest_curvature = 0.01});
  Findings findings;
  for (const char* attack : {"sign-flip", "scaled", "empire", "little"}) {
    TrialOptions trial = attacked_trial(kLambda, expression_of(attack));
    trial.updates = lab.pick(300, 2000);
    AttackWatch watch(problem, attack, trial.workers);
    sim::Observer* const observers[] = {&watch};
    BALLAST_TRY([[maybe_unused]] const auto result,
                run_trial(problem, trial, lab.components, {.arrivals = observers}));
    findings.checks.push_back(
        {.what = fmt::format("{}: largest |sent - defined| / |defined|", attack),
         .measured = Estimate::exactly(watch.gap()),
         .limit = kTolerance,
         .reason = "rounding"});
  }
  return findings;
}

}  // namespace ballast::verify
