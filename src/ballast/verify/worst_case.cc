#include "ballast/verify/worst_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ballast/base/rng.h"
#include "ballast/verify/problem.h"

namespace ballast::verify {
namespace {

constexpr std::size_t kHonest = 9;
constexpr std::size_t kDim = 4;
constexpr std::size_t kSearchDim = 2;
constexpr double kBelowShare = 1.0 - 1e-9;  // so that rounding does not lift the share above lambda

double liars_weight(const AttackedTable& table, double lambda) {
  const DoubleVector& weights = table.honest.weights;
  const double honest = std::accumulate(weights.begin(), weights.end(), 0.0);
  return honest * lambda / (1.0 - lambda) * kBelowShare;
}

// Normal rows, less noisy where the weight is larger, and weights 1, id or id^2.
WeightedRows draw_honest(Rng& rng) {
  WeightedRows honest;
  const auto power = static_cast<double>(rng.below(3));
  for (std::size_t i = 0; i < kHonest; ++i) {
    const double weight = std::pow(static_cast<double>(i + 1), power);
    DoubleVector row(kDim);
    for (double& value : row) value = 1.0 + rng.normal() / std::sqrt(weight);
    honest.rows.push_back(std::move(row));
    honest.weights.push_back(weight);
  }
  return honest;
}

// What all liars of a kind send; `scale` is a matter of degree.
DoubleVector lie(AdversaryKind adversary, const WeightedRows& honest, double scale) {
  DoubleVector said = weighted_mean(honest);
  const double deviation = std::sqrt(weighted_spread(honest, said) / static_cast<double>(kDim));
  if (adversary == AdversaryKind::kShift) said[0] += scale * deviation;
  for (double& value : said) {
    if (adversary == AdversaryKind::kFar) value += 1e6 * scale;
    if (adversary == AdversaryKind::kLittle) value -= scale * deviation;
    if (adversary == AdversaryKind::kEmpire) value *= -scale;
  }
  return said;
}

Result<double> worst_of_kind(const robust::Rule& rule, AdversaryKind adversary,
                             const WorstCaseOptions& options, RuleBench& bench) {
  constexpr double kScales[] = {0.1, 0.3, 1.0, 1.5, 3.0};
  double worst = 0.0;
  for (std::size_t i = 0; i < options.trials; ++i) {
    Rng rng(RngKey{
        .purpose = static_cast<std::uint32_t>(TrialPurpose::kHonestRows), .owner = 1, .step = i});
    const WeightedRows honest = draw_honest(rng);
    for (const double scale : kScales) {
      const AttackedTable table{.honest = honest, .liars = {lie(adversary, honest, scale)}};
      BALLAST_TRY(const double pulled, pull(rule, table, options.lambda, bench));
      worst = std::max(worst, pulled);
    }
  }
  return worst;
}

// Honest rows at two points of a line, the share `far` of their weight at 1, and liars at one
// point.
AttackedTable two_points(double far, double liars_at) {
  return {.honest = {.rows = {{0.0, 0.0}, {1.0, 0.0}}, .weights = {1.0 - far, far}},
          .liars = {{liars_at, 0.0}}};
}

// Medians: liars and the honest rows at 0 hold just more than half together. Trimming: the honest
// rows at 1 weigh as much as is cut away, and the liars stand a little nearer on the other side.
std::vector<AttackedTable> constructed_tables(double lambda) {
  constexpr double kMargin = 1e-6;
  const double minority = (0.5 - lambda) / (1.0 - lambda) * (1.0 + kMargin) + kMargin;
  const double cut = lambda / (1.0 - lambda);
  return {two_points(1.0 - minority, 0.0), two_points(cut, -1.0 + kMargin)};
}

Result<double> worst_constructed(const robust::Rule& rule, const WorstCaseOptions& options,
                                 RuleBench& bench) {
  double worst = 0.0;
  for (const AttackedTable& table : constructed_tables(options.lambda)) {
    BALLAST_TRY(const double pulled, pull(rule, table, options.lambda, bench));
    worst = std::max(worst, pulled);
  }
  return worst;
}

DoubleVector draw_point(Rng& rng) {
  DoubleVector point(kSearchDim);
  for (double& value : point) value = rng.normal();
  return point;
}

// Two to four honest rows anywhere, with weights of any order of magnitude, and one liar.
AttackedTable random_table(Rng& rng) {
  AttackedTable table{.honest = {}, .liars = {draw_point(rng)}};
  const std::size_t rows = 2 + rng.below(3);
  for (std::size_t i = 0; i < rows; ++i) {
    table.honest.rows.push_back(draw_point(rng));
    table.honest.weights.push_back(std::exp(-6.0 * rng.uniform()));
  }
  return table;
}

// The largest weight becomes 1 and the others no smaller than a billionth, so that a climb along
// weights that a rule ignores ends somewhere.
void scale_weights(DoubleVector& weights) {
  const double largest = std::ranges::max(weights);
  for (double& weight : weights) weight = std::max(weight / largest, 1e-9);
}

// Moves everything a little, or one thing alone; now and then a liar goes where a row is.
AttackedTable moved(const AttackedTable& table, double step, Rng& rng) {
  AttackedTable next = table;
  const std::size_t rows = next.honest.rows.size();
  const std::uint64_t kind = rng.below(8);
  if (kind == 0) {
    next.liars[0] = next.honest.rows[rng.below(rows)];
    return next;
  }
  const std::size_t chosen = rng.below(2 * rows + 1);  // its place, its weight, or the liar
  const bool moves_all = kind < 4;
  for (std::size_t i = 0; i < rows; ++i) {
    if (moves_all || chosen == i) {
      for (double& value : next.honest.rows[i]) value += step * rng.normal();
    }
    if (moves_all || chosen == rows + i) next.honest.weights[i] *= std::exp(step * rng.normal());
  }
  if (moves_all || chosen == 2 * rows) {
    for (double& value : next.liars[0]) value += step * rng.normal();
  }
  scale_weights(next.honest.weights);
  return next;
}

// A climb that lengthens its step after a success and shortens it after a failure, so that about
// one in five succeeds.
Result<double> climb(const robust::Rule& rule, AttackedTable table, const WorstCaseOptions& options,
                     Rng& rng, RuleBench& bench) {
  constexpr double kLonger = 1.5, kStepMin = 1e-7;
  const double shorter = std::pow(kLonger, -0.25);
  BALLAST_TRY(double highest, pull(rule, table, options.lambda, bench));
  double step = 0.5;
  for (std::size_t i = 0; i < options.steps; ++i) {
    AttackedTable next = moved(table, step, rng);
    BALLAST_TRY(const double pulled, pull(rule, next, options.lambda, bench));
    const bool is_higher = pulled > highest;
    if (is_higher) {
      highest = pulled;
      table = std::move(next);
    }
    step = std::max(kStepMin, step * (is_higher ? kLonger : shorter));
  }
  return highest;
}

Result<double> worst_found(const robust::Rule& rule, const WorstCaseOptions& options,
                           RuleBench& bench) {
  double worst = 0.0;
  for (std::size_t start = 0; start < options.starts; ++start) {
    Rng rng(RngKey{.purpose = static_cast<std::uint32_t>(TrialPurpose::kSearch), .step = start});
    AttackedTable table = random_table(rng);
    BALLAST_TRY(const double highest, climb(rule, std::move(table), options, rng, bench));
    worst = std::max(worst, highest);
  }
  return worst;
}

}  // namespace

std::string_view name(AdversaryKind adversary) noexcept {
  constexpr std::string_view kNames[] = {"far",    "shift",        "little",
                                         "empire", "construction", "search"};
  return kNames[static_cast<std::size_t>(adversary)];
}

Result<double> pull(const robust::Rule& rule, const AttackedTable& table, double lambda,
                    RuleBench& bench) {
  // What the rule sees is what counts: rows as floats.
  AttackedTable rounded = table;
  for (auto* rows : {&rounded.honest.rows, &rounded.liars}) {
    for (DoubleVector& row : *rows) {
      for (double& value : row) value = static_cast<float>(value);
    }
  }
  const DoubleVector mean = weighted_mean(rounded.honest);
  WeightedRows all = rounded.honest;
  const double weight = liars_weight(table, lambda) / static_cast<double>(table.liars.size());
  if (lambda > 0.0) {
    for (const DoubleVector& liar : rounded.liars) {
      all.rows.push_back(liar);
      all.weights.push_back(weight);
    }
  }
  BALLAST_TRY(const DoubleVector result, bench.apply(rule, all));
  const double rho_squared = weighted_spread(rounded.honest, mean);
  // Climbs may shrink all rows to a point; the ratio would then be one of rounding errors.
  constexpr double kSpreadMin = 1e-6;
  return rho_squared < kSpreadMin ? 0.0 : squared_distance(result, mean) / rho_squared;
}

Result<double> worst_pull(const robust::Rule& rule, AdversaryKind adversary,
                          const WorstCaseOptions& options, RuleBench& bench) {
  if (adversary == AdversaryKind::kSearch) return worst_found(rule, options, bench);
  if (adversary == AdversaryKind::kConstruction) return worst_constructed(rule, options, bench);
  return worst_of_kind(rule, adversary, options, bench);
}

}  // namespace ballast::verify
