#include "ballast/verify/algorithm_watch.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "ballast/base/check.h"
#include "ballast/server/weight_policy.h"
#include "ballast/verify/plain_rules.h"

namespace ballast::verify {
namespace {

void widen(double& gap, double value) {
  // Not std::max, which would drop a NaN.
  if (!(value <= gap)) gap = value;
}

DoubleVector as_vector(std::span<const float> values) {
  return DoubleVector(values.begin(), values.end());
}

double length(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

// The nearest point of K, by the definition of a ball or a box.
void project_plainly(const optim::Projection& set, DoubleVector& point) {
  if (const auto* box = std::get_if<optim::Box>(&set)) {
    for (double& value : point) value = std::min(std::max(value, box->low), box->high);
    return;
  }
  const auto& ball = std::get<optim::Ball>(set);
  BALLAST_CHECK(ball.centre.size() == point.size(), "a ball with a centre");
  const double distance = std::sqrt(squared_distance(point, ball.centre));
  if (distance <= ball.radius) return;
  for (std::size_t j = 0; j < point.size(); ++j) {
    point[j] = ball.centre[j] + (point[j] - ball.centre[j]) * ball.radius / distance;
  }
}

}  // namespace

AlgorithmWatch::AlgorithmWatch(const Problem& problem, const Options& options)
    : problem_(problem),
      options_(options),
      rows_(options.workers.total()),
      counts_(options.workers.total()),
      sum_(as_vector(problem.start())) {}  // alpha_1 w_1

double AlgorithmWatch::per_diameter(std::span<const double> a, std::span<const float> b) const {
  return std::sqrt(squared_distance(a, as_vector(b))) / problem_.constants().diameter;
}

void AlgorithmWatch::on_step(const StepRecord& record) {
  t_ = static_cast<double>(record.t);
  direction_.assign(record.direction.begin(), record.direction.end());
  w_.assign(record.w.begin(), record.w.end());
  x_.assign(record.x.begin(), record.x.end());
  next_w_.assign(record.next_w.begin(), record.next_w.end());
  next_x_.assign(record.next_x.begin(), record.next_x.end());
  compare_step();
}

void AlgorithmWatch::compare_step() {
  DoubleVector next = as_vector(w_);
  for (std::size_t j = 0; j < next.size(); ++j) next[j] -= options_.eta * t_ * direction_[j];
  project_plainly(problem_.set(), next);
  widen(gaps_.step, per_diameter(next, next_w_));
  const double newest = t_ + 1.0, total = newest * (newest + 1.0) / 2.0;
  DoubleVector average(sum_.size());
  for (std::size_t j = 0; j < sum_.size(); ++j) {
    sum_[j] += newest * next_w_[j];
    average[j] = sum_[j] / total;
  }
  widen(gaps_.average, per_diameter(average, next_x_));
}

void AlgorithmWatch::take_row(std::uint32_t worker, const server::ParameterServer& server) {
  const std::span<const float> row = server.row(worker);
  rows_[worker].assign(row.begin(), row.end());
  counts_[worker] += 1.0;
  const double unit = static_cast<double>(server::kWeightUnits);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    widen(gaps_.weight, std::abs(static_cast<double>(server.worker(i).weight) / unit - counts_[i]));
    if (!std::ranges::equal(server.row(i), rows_[i])) gaps_.row += 1.0;
  }
}

void AlgorithmWatch::compare_direction() {
  WeightedRows table;
  double longest = 0.0;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].empty()) continue;
    table.rows.push_back(as_vector(rows_[i]));
    table.weights.push_back(counts_[i]);
    if (!options_.workers.is_byzantine(i)) longest = std::max(longest, length(rows_[i]));
  }
  DoubleVector direction = plain_cwmed(table);
  if (options_.is_ctma) {
    if (!has_clear_order(table, direction)) return;
    direction = plain_ctma(table, options_.share, direction);
  }
  widen(gaps_.direction, std::sqrt(squared_distance(direction, as_vector(direction_))) / longest);
}

Result<sim::Next> AlgorithmWatch::on_arrival(const sim::ArrivalRecord& record,
                                             const server::ParameterServer& server) {
  arrivals_ += 1.0;
  if (record.is_byzantine) byzantine_ += 1.0;
  widen(gaps_.byzantine, byzantine_ - options_.share * arrivals_);
  take_row(record.worker, server);
  compare_direction();
  widen(gaps_.reply, per_diameter(as_vector(*record.reply.values), x_));
  return sim::Next::kContinue;
}

}  // namespace ballast::verify
