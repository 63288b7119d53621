// Theorem 4.1: how the errors of the workers' estimates fall.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/estimator_watch.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

using sim::ScheduleKind;

constexpr double kShare = 0.2;
constexpr std::size_t kGroups = 8;  // of seeds, for the confidence of a slope

struct Setting {
  std::string label = {};
  ScheduleKind schedule = ScheduleKind::kUniform;
  optim::EstimatorOptions estimator = optim::Mu2Estimator{.beta = optim::HarmonicBeta{}};
  bool is_mu2 = true;
};

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const ScheduleKind schedule : kSchedules) {
    settings.push_back(
        {.label = fmt::format("mu2, {}", sim::name(schedule)), .schedule = schedule});
  }
  settings.push_back({.label = "SGD", .estimator = optim::SgdEstimator{}, .is_mu2 = false});
  settings.push_back(
      {.label = "momentum 0.9", .estimator = optim::MomentumEstimator{}, .is_mu2 = false});
  return settings;
}

// Where errors are noted, and from which on slopes are fitted: by then momentum has forgotten its
// first gradient, and every worker has a row.
struct Points {
  std::vector<std::uint64_t> counts{};  // of one worker's updates
  std::vector<std::uint64_t> times{};   // of honest updates

  static constexpr std::uint64_t kFittedCounts = 32;
  static constexpr std::uint64_t kFittedTimes = 128;
};

struct Errors {
  std::vector<double> rows{};  // E|eps_i|^2 at the counts
  std::vector<double> mean{};  // |sum_G s_i eps_i / t_G|^2 at the times
  double delay_spread = 1.0;   // K
};

Result<Errors> measure(const Lab& lab, const Setting& setting, const Points& points,
                       std::uint64_t seed) {
  LeastSquares problem = noisy_least_squares();
  TrialOptions trial = attacked_trial(kShare, "sign-flip");
  trial.schedule = setting.schedule;
  trial.estimator = setting.estimator;
  trial.updates = points.times.back() * 13 / 10;  // honest ones are 0.8 of them
  trial.seed = seed;
  EstimatorWatch watch(
      problem, {.workers = kWorkers, .seed = seed, .counts = points.counts, .times = points.times});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components, observers));
  return Errors{.rows = watch.row_errors(),
                .mean = watch.mean_errors(),
                .delay_spread = delays_of(result.arrivals, kWorkers).spread};
}

// One of the theorem's two errors, in all seeds.
struct ErrorCurve {
  std::string what;
  std::vector<double> x;                     // s or t_G
  std::vector<std::vector<double>> samples;  // by seed
  double fitted_from = 1.0;

  Estimate slope() const {
    const auto begin =
        static_cast<std::size_t>(std::ranges::lower_bound(x, fitted_from) - x.begin());
    return over_groups(samples, kGroups, [&](std::span<const double> mean) {
      return log_slope(std::span(x).subspan(begin), mean.subspan(begin));
    });
  }

  // The largest x * error over the theorem's sigma~^2.
  double share_of_bound(double variance) const {
    const std::vector<double> mean = pointwise_mean(samples);
    double largest = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, x[i] * mean[i] / variance);
    }
    return largest;
  }
};

void judge(const ErrorCurve& curve, bool is_mu2, double variance, Findings& findings) {
  if (!is_mu2) {
    findings.checks.push_back({.what = curve.what + ": slope",
                               .measured = curve.slope(),
                               .relation = Relation::kAtLeast,
                               .limit = -0.5,
                               .reason = "nearer to 0 than to the -1 of mu2"});
    return;
  }
  findings.checks.push_back({.what = curve.what + ": slope",
                             .measured = curve.slope(),
                             .limit = -1.0 + kSlopeTolerance,
                             .reason = "-1, tolerance 0.1"});
  findings.checks.push_back({.what = curve.what + ": largest share of the bound",
                             .measured = Estimate::exactly(curve.share_of_bound(variance)),
                             .limit = 1.0,
                             .reason = "sigma~^2 = 2 sigma^2 + 32 D^2 K^2 sigma_L^2"});
}

// Both errors of one setting.
struct Measured {
  ErrorCurve rows, mean;
  double delay_spread = 0.0;  // mean over the seeds
};

Measured gather(const std::string& label, const Points& points, std::span<const Errors> seeds) {
  Measured measured{
      .rows = {label + ", one worker", as_numbers(points.counts), {}, Points::kFittedCounts},
      .mean = {label + ", weighted mean", as_numbers(points.times), {}, Points::kFittedTimes}};
  for (const Errors& errors : seeds) {
    measured.rows.samples.push_back(errors.rows);
    measured.mean.samples.push_back(errors.mean);
    measured.delay_spread += errors.delay_spread / static_cast<double>(seeds.size());
  }
  return measured;
}

records::Figure figure_of(const char* stem, const char* title, const char* x_label) {
  return {.stem = stem, .title = title, .x_label = x_label, .y_label = "mean squared error"};
}

records::FigureCurve drawn(const std::string& label, const ErrorCurve& curve) {
  return {.label = label, .x = curve.x, .y = pointwise_mean(curve.samples)};
}

}  // namespace

Result<Findings> check_estimator(const Lab& lab) {
  const std::size_t seeds = lab.pick(32, 160);
  const std::vector<Setting> settings = all_settings();
  const Points points{.counts = doublings(1, lab.pick(256, 512)),
                      .times = doublings(1, lab.pick(2048, 4096))};
  BALLAST_TRY(const auto errors, run_all(lab, settings.size() * seeds, [&](std::size_t i) {
                return measure(lab, settings[i / seeds], points, i % seeds + 1);
              }));
  Findings findings;
  auto rows = figure_of("estimator-rows", "E|eps_i|^2 of one worker", "updates s of the worker");
  auto means = figure_of("estimator-mean", "E|sum_G s_i eps_i / t_G|^2", "honest updates t_G");
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    const Measured measured =
        gather(setting.label, points, std::span(errors).subspan(i * seeds, seeds));
    const double variance =
        estimator_variance(noisy_least_squares().constants(), measured.delay_spread);
    judge(measured.rows, setting.is_mu2, variance, findings);
    judge(measured.mean, setting.is_mu2, variance, findings);
    rows.curves.push_back(drawn(setting.label, measured.rows));
    means.curves.push_back(drawn(setting.label, measured.mean));
  }
  for (records::Figure* const figure : {&rows, &means}) {
    const records::FigureCurve& first = figure->curves[0];
    figure->curves.push_back(guide("slope -1", first.x, first.y[0], -1.0));
  }
  findings.figures = {std::move(rows), std::move(means)};
  return findings;
}

}  // namespace ballast::verify
