#include "ballast/experiment/explain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"

namespace ballast::experiment {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// A row this near to the median, compared with the farthest one, is the median: the solver stops at
// a millionth of the objective.
constexpr double kAtTheRow = 1e-5;

std::span<const float> row(const WeighedRows& rows, std::size_t i) {
  return {rows.pointers[i], rows.dim};
}

WeighedRows rows_of(const server::ParameterServer& server, const sim::Population& workers) {
  WeighedRows rows{.dim = server.dim(), .direction = server.method().last_direction()};
  for (std::uint32_t worker = 0; worker < workers.total(); ++worker) {
    const server::WorkerRecord record = server.worker(worker);
    const std::span<const float> values = server.row(worker);
    if (record.weight == 0 || values.empty()) continue;
    rows.pointers.push_back(values.data());
    rows.weights.push_back(static_cast<double>(record.weight));
    rows.kept.push_back(record.kept);
    rows.is_byzantine.push_back(workers.is_byzantine(worker));
  }
  return rows;
}

// The share of the Byzantine rows in amounts that are not negative.
double byzantine_share(const WeighedRows& rows, std::span<const double> amounts) {
  double all = 0.0;
  double theirs = 0.0;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    all += amounts[i];
    if (rows.is_byzantine[i]) theirs += amounts[i];
  }
  return all > 0.0 ? theirs / all : kNan;
}

template <typename Left, typename Right>
double squared_distance(const Left& left, const Right& right) {
  double sum = 0.0;
  for (std::size_t j = 0; j < left.size(); ++j) {
    const double difference = static_cast<double>(left[j]) - static_cast<double>(right[j]);
    sum += difference * difference;
  }
  return sum;
}

// The mean of the honest rows by weight; nothing without any.
std::vector<double> honest_mean(const WeighedRows& rows) {
  std::vector<double> mean;
  double total = 0.0;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    if (rows.is_byzantine[i]) continue;
    mean.resize(rows.dim);
    total += rows.weights[i];
    const auto values = row(rows, i);
    for (std::size_t j = 0; j < rows.dim; ++j) mean[j] += rows.weights[i] * values[j];
  }
  for (double& value : mean) value /= total;
  return mean;
}

double honest_noise(const WeighedRows& rows, const std::vector<double>& mean) {
  double sum = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    if (rows.is_byzantine[i]) continue;
    sum += rows.weights[i] * squared_distance(row(rows, i), mean);
    total += rows.weights[i];
  }
  return std::sqrt(sum / total);
}

// The coefficients of the rows in their geometric median.
std::vector<double> coefficients_of(const WeighedRows& rows, const std::vector<float>& median) {
  std::vector<double> distances;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    distances.push_back(std::sqrt(squared_distance(row(rows, i), median)));
  }
  const double near = kAtTheRow * std::ranges::max(distances);
  const bool is_a_row = std::ranges::min(distances) <= near;
  std::vector<double> result;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    const bool is_here = distances[i] <= near;
    result.push_back(is_a_row ? (is_here ? rows.weights[i] : 0.0) : rows.weights[i] / distances[i]);
  }
  return result;
}

void compare(const std::vector<float>& direction, const WeighedRows& rows,
             records::Explanation& explanation) {
  const std::vector<double> mean = honest_mean(rows);
  if (mean.empty()) return;
  const double noise = honest_noise(rows, mean);
  const std::vector<double> origin(rows.dim);
  const double length = std::sqrt(squared_distance(mean, origin));
  const double reach = std::sqrt(squared_distance(direction, origin));
  double product = 0.0;
  for (std::size_t j = 0; j < rows.dim; ++j) product += mean[j] * direction[j];
  if (length > 0.0 && reach > 0.0) explanation.direction_cosine = product / length / reach;
  if (length > 0.0) explanation.honest_noise = noise / length;
  if (noise > 0.0) {
    explanation.direction_distance = std::sqrt(squared_distance(direction, mean)) / noise;
  }
}

}  // namespace

Explainer::Explainer(robust::RulePointer rule, robust::RulePointer median,
                     const sim::Population& workers)
    : rule_(std::move(rule)),
      median_(std::move(median)),
      workers_(workers),
      backend_(kernels::make_cpu_backend(1)) {}

Result<Explainer> Explainer::make(std::string_view rule, const sim::Population& workers) {
  BALLAST_TRY(auto parsed, robust::parse_rule(rule));
  BALLAST_TRY(auto median, robust::parse_rule("gm"));
  return Explainer(std::move(parsed), std::move(median), workers);
}

Result<records::Explanation> Explainer::explain(const server::ParameterServer& server) {
  return explain(rows_of(server, workers_));
}

Result<records::Explanation> Explainer::explain(const WeighedRows& rows) {
  records::Explanation result;
  for (const records::ExplanationField& field : records::kExplanationFields) {
    result.*(field.member) = kNan;
  }
  if (rows.weights.empty()) return result;
  result.byzantine_weight = byzantine_share(rows, rows.weights);
  std::vector<double> kept;
  for (std::size_t i = 0; i < rows.weights.size(); ++i)
    kept.push_back(rows.weights[i] * rows.kept[i]);
  result.byzantine_kept = byzantine_share(rows, kept);

  const kernels::RowsView view(rows.pointers, rows.dim);
  std::vector<float> values(rows.dim);
  BALLAST_TRY_STATUS(
      robust::aggregate(*median_, view, rows.weights, values, *backend_, workspace_));
  result.byzantine_in_gm = byzantine_share(rows, coefficients_of(rows, values));
  if (rows.direction.empty()) {
    BALLAST_TRY_STATUS(
        robust::aggregate(*rule_, view, rows.weights, values, *backend_, workspace_));
  } else {
    values.assign(rows.direction.begin(), rows.direction.end());
  }
  compare(values, rows, result);
  return result;
}

}  // namespace ballast::experiment
