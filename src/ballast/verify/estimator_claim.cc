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
  // Without noise that depends on the model a row is the mean of s samples at the present one.
  bool has_constant_noise = false;
  // Where delays vary much, K makes the theorem's variance larger than that of single samples.
  bool is_bounded = false;

  LeastSquares problem() const {
    if (!has_constant_noise) return noisy_least_squares();
    return LeastSquares({.dim = kDim, .smallest_curvature = 0.1, .constant_noise = 1.0});
  }
};

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const ScheduleKind schedule : kSchedules) {
    settings.push_back({.label = fmt::format("mu2, {}", sim::name(schedule)),
                        .schedule = schedule,
                        .is_bounded = schedule == ScheduleKind::kRoundRobin});
  }
  settings.push_back({.label = "mu2, id, constant noise",
                      .schedule = ScheduleKind::kId,
                      .has_constant_noise = true});
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
  LeastSquares problem = setting.problem();
  TrialOptions trial = attacked_trial(kShare, "sign-flip");
  trial.schedule = setting.schedule;
  trial.estimator = setting.estimator;
  trial.updates = points.times.back() * 13 / 10;  // honest ones are 0.8 of them
  trial.seed = seed;
  EstimatorWatch watch(
      problem, {.workers = kWorkers, .seed = seed, .counts = points.counts, .times = points.times});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY(const TrialResult result,
              run_trial(problem, trial, lab.components, {.arrivals = observers}));
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

  // x * error over the variance, the mean over all points.
  Estimate mean_share(double variance) const {
    std::vector<double> shares;
    for (const std::vector<double>& sample : samples) {
      double sum = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * sample[i] / variance;
      shares.push_back(sum / static_cast<double>(x.size()));
    }
    return mean_of(shares);
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

void judge(const ErrorCurve& curve, const Setting& setting, double delay_spread,
           Findings& findings) {
  const Constants constants = setting.problem().constants();
  const double sample_variance = constants.deviation * constants.deviation;
  findings.checks.push_back(
      {.what = curve.what + ": slope",
       .measured = curve.slope(),
       .relation = setting.is_mu2 ? Relation::kEqual : Relation::kAtLeast,
       .limit = setting.is_mu2 ? -1.0 : -0.5,
       .tolerance = setting.is_mu2 ? kSlopeTolerance : 0.0,
       .reason = setting.is_mu2 ? "-1: Theorem 4.1" : "nearer to 0 than to the -1 of mu2"});
  if (setting.has_constant_noise) {
    findings.checks.push_back({.what = curve.what + ": error times updates over sigma^2",
                               .measured = curve.mean_share(sample_variance),
                               .relation = Relation::kEqual,
                               .limit = 1.0,
                               .tolerance = 0.1,
                               .reason = "rows are means of samples"});
  }
  if (setting.is_bounded) {
    const double variance = estimator_variance(constants, delay_spread);
    findings.checks.push_back({.what = curve.what + ": largest share of the bound",
                               .measured = Estimate::exactly(curve.share_of_bound(variance)),
                               .limit = 1.0,
                               .reason = "sigma~^2 = 2 sigma^2 + 32 D^2 K^2 sigma_L^2",
                               // of an estimator that forgets
                               .possible = {.high = curve.x.back() * sample_variance / variance}});
  }
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
  const std::size_t seeds = lab.pick(16, 160);
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
    judge(measured.rows, setting, measured.delay_spread, findings);
    judge(measured.mean, setting, measured.delay_spread, findings);
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
