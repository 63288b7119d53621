#include "ballast/verify/estimator_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::verify {
namespace {

double squared_norm(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return sum;
}

// Its index; the number of values if it is none of them.
std::size_t place_of(std::uint64_t value, std::span<const std::uint64_t> values) {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}

}  // namespace

EstimatorWatch::EstimatorWatch(Problem& problem, Options options)
    : problem_(problem),
      options_(std::move(options)),
      workers_(options_.workers.honest),
      row_sums_(options_.counts.size()),
      row_counts_(options_.counts.size()),
      mean_errors_(options_.times.size()),
      gradient_(problem.dim()),
      previous_gradient_(problem.dim()),
      expected_(problem.dim()),
      previous_expected_(problem.dim()) {
  for (Watched& worker : workers_) {
    worker.model = problem.start();
    worker.error.resize(problem.dim());
    worker.sum.resize(problem.dim());
  }
}

Result<sim::Next> EstimatorWatch::on_arrival(const sim::ArrivalRecord& record,
                                             const server::ParameterServer& server) {
  if (record.is_byzantine) return sim::Next::kContinue;
  Watched& worker = workers_[record.worker];
  ++worker.count;
  ++honest_arrivals_;
  problem_.expected_gradient(worker.model, expected_);
  const std::span<const float> row = server.row(record.worker);
  for (std::size_t j = 0; j < row.size(); ++j) worker.error[j] = row[j] - expected_[j];
  if (options_.checks_identity) BALLAST_TRY_STATUS(check_identity(worker, record.worker));
  note_errors(worker);
  worker.previous.swap(worker.model);
  worker.model = *record.reply.values;
  return sim::Next::kContinue;
}

void EstimatorWatch::note_errors(const Watched& worker) {
  if (const std::size_t i = place_of(worker.count, options_.counts); i < row_sums_.size()) {
    row_sums_[i] += squared_norm(worker.error);
    row_counts_[i] += 1.0;
  }
  if (const std::size_t i = place_of(honest_arrivals_, options_.times); i < mean_errors_.size()) {
    const auto total = static_cast<double>(honest_arrivals_);
    mean_errors_[i] = weighted_sum_squared() / (total * total);
  }
}

double EstimatorWatch::weighted_sum_squared() const {
  std::vector<double> sum(problem_.dim());
  for (const Watched& worker : workers_) {
    const auto count = static_cast<double>(worker.count);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += count * worker.error[j];
  }
  return squared_norm(sum);
}

Status EstimatorWatch::check_identity(Watched& worker, std::uint32_t id) {
  const worker::Sample sample{.key = {.seed = options_.seed, .worker = id, .step = worker.count}};
  BALLAST_TRY([[maybe_unused]] const double loss,
              problem_.gradient(worker.model, sample, gradient_, {}));
  const double count = static_cast<double>(worker.count);
  if (worker.count > 1) {
    BALLAST_TRY([[maybe_unused]] const double previous_loss,
                problem_.gradient(worker.previous, sample, previous_gradient_, {}));
    problem_.expected_gradient(worker.previous, previous_expected_);
  }
  double gap = 0.0, length = 0.0;
  for (std::size_t j = 0; j < expected_.size(); ++j) {
    const double noise = gradient_[j] - expected_[j];
    const double previous_noise = previous_gradient_[j] - previous_expected_[j];
    const double difference =
        noise + (count - 1.0) * (noise - (worker.count > 1 ? previous_noise : noise));
    worker.sum[j] += difference;
    sum_of_squares_ += difference * difference;
    gap += std::pow(count * worker.error[j] - worker.sum[j], 2.0);
    length += static_cast<double>(gradient_[j]) * gradient_[j];
  }
  longest_gradient_ = std::max(longest_gradient_, std::sqrt(length));
  if (longest_gradient_ > 0.0) {
    identity_gap_ = std::max(identity_gap_, std::sqrt(gap) / (count * longest_gradient_));
  }
  return {};
}

std::vector<double> EstimatorWatch::row_errors() const {
  std::vector<double> errors(row_sums_.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (row_counts_[i] > 0.0) errors[i] = row_sums_[i] / row_counts_[i];
  }
  return errors;
}

}  // namespace ballast::verify
