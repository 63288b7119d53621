#include "ballast/server/parameter_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/finite.h"
#include "ballast/robust/aggregate.h"

namespace ballast::server {
namespace {

// Spreads seeds over the numbers of draws, so that two runs share none of theirs.
constexpr std::uint64_t kSeedStride = 0x9E37'79B9'7F4A'7C15;

double in_updates(std::uint64_t weight) {
  return static_cast<double>(weight) / static_cast<double>(kWeightUnits);
}

}  // namespace

Result<ParameterServer> ParameterServer::make(const ServerOptions& options, ServerParts parts) {
  BALLAST_CHECK(parts.rule != nullptr && parts.backend != nullptr && parts.optimizer != nullptr,
                "a server needs all of its parts");
  if (options.worker_count == 0) return invalid_argument("a server needs at least one worker");
  BALLAST_TRY_STATUS(validate(options.weights, options.worker_count));
  BALLAST_TRY_STATUS(parts.rule->check_row_count(options.worker_count));
  return ParameterServer(options, std::move(parts));
}

ParameterServer::ParameterServer(const ServerOptions& options, ServerParts parts)
    : options_(options),
      optimizer_(std::move(parts.optimizer)),
      table_(std::move(parts.rule), std::move(parts.backend), options.worker_count,
             optimizer_->model()->size()),
      workers_(options.worker_count),
      statistics_(options.worker_count),
      counts_(options.worker_count),
      weights_(options.worker_count) {
  publish();
}

Result<Snapshot> ParameterServer::on_join(std::uint32_t worker) {
  if (worker >= workers_.size()) {
    return not_found(fmt::format("there is no worker {}; they are numbered 0 to {}", worker,
                                 workers_.size() - 1));
  }
  workers_[worker].given = newest_.version;
  return newest_;
}

Outcome ParameterServer::on_update(const Update& update, Instant now) {
  if (update.worker >= workers_.size()) {
    ++unknown_count_;
    return {.verdict = Verdict::kUnknownWorker};
  }
  Outcome outcome = {.verdict = judge(update)};
  const Snapshot before = newest_;
  // The table takes the values last, because it finds the NaNs while it copies.
  if (outcome.verdict == Verdict::kAccepted && !accept(update, now)) {
    outcome.verdict = Verdict::kNotFinite;
  }
  WorkerRecord& record = workers_[update.worker];
  ++record.verdicts[static_cast<std::size_t>(outcome.verdict)];
  if (outcome.verdict != Verdict::kAccepted) return outcome;
  outcome.staleness = record.staleness;
  outcome.has_stepped = has_quorum_ && step();
  outcome.reply = options_.reply == Reply::kPaper ? before : newest_;
  record.given = outcome.reply.version;
  return outcome;
}

void ParameterServer::refuse(std::uint32_t worker, Verdict verdict) {
  BALLAST_CHECK(verdict != Verdict::kAccepted, "a refusal");
  ++workers_[worker].verdicts[static_cast<std::size_t>(verdict)];
}

void ParameterServer::remove(std::uint32_t worker) {
  WorkerRecord& record = workers_[worker];
  record.count = counts_[worker] = 0;
  record.kept = 0.0;
  record.given.reset();
  statistics_[worker].clear();
  table_.remove(worker);
  const Status status = weigh();
  BALLAST_CHECK(status.has_value(), "every weight belongs to a row");
}

Verdict ParameterServer::judge(const Update& update) const {
  const WorkerRecord& record = workers_[update.worker];
  if (update.values.size() != dim() || update.statistics.size() != options_.statistic_count) {
    return Verdict::kWrongShape;
  }
  if (update.sequence <= record.sequence) return Verdict::kReplayed;
  if (update.version != record.given) return Verdict::kUnasked;
  const std::uint64_t staleness = newest_.version - update.version;
  if (options_.staleness_max && staleness > *options_.staleness_max) return Verdict::kStale;
  if (!kernels::all_finite(update.statistics)) return Verdict::kNotFinite;
  return Verdict::kAccepted;
}

// Puts the row in place and weighs all of them anew. Fails only for values that are not finite, and
// changes nothing then.
Status ParameterServer::accept(const Update& update, Instant now) {
  BALLAST_CHECK(update.memory == nullptr || update.memory->values().data() == update.values.data(),
                "the values lie in the memory that comes with them");
  BALLAST_TRY_STATUS(update.memory != nullptr ? table_.put(update.worker, *update.memory, 1.0)
                                              : table_.put(update.worker, update.values, 1.0));
  WorkerRecord& record = workers_[update.worker];
  record.count = ++counts_[update.worker];
  record.sequence = update.sequence;
  record.staleness = newest_.version - update.version;
  record.last_seen = now;
  record.given.reset();
  statistics_[update.worker].assign(update.statistics.begin(), update.statistics.end());
  ++accepted_count_;
  return weigh();
}

Status ParameterServer::weigh() {
  has_quorum_ = assign_weights(options_.weights, counts_, weights_);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].weight = weights_[i];
    if (weights_[i] > 0) BALLAST_TRY_STATUS(table_.set_weight(i, in_updates(weights_[i])));
  }
  return {};
}

// False if the step would leave the finite numbers; the model then stays where it is.
bool ParameterServer::step() {
  const std::uint64_t draw = options_.seed * kSeedStride + accepted_count_;
  const auto direction = table_.aggregate(draw);
  BALLAST_CHECK(direction.has_value(), "a table with a row and a checked rule aggregates");
  std::size_t index = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (table_.has(i)) workers_[i].kept = table_.report().kept[index++];
  }
  if (!optimizer_->step(**direction)) return false;
  publish();
  return true;
}

std::vector<robust::RowMeasure> ParameterServer::measure_rows() const {
  const std::vector<robust::RowMeasure> measured = table_.measure();
  std::vector<robust::RowMeasure> measures(workers_.size());
  std::size_t index = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (table_.has(i)) measures[i] = measured[index++];
  }
  return measures;
}

void ParameterServer::publish() {
  newest_ = {.version = optimizer_->version(), .values = optimizer_->model()};
}

Result<std::vector<float>> ParameterServer::statistics() const {
  std::vector<std::vector<float>> rows;
  std::vector<double> weights;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (weights_[i] == 0) continue;
    rows.push_back(statistics_[i]);
    weights.push_back(in_updates(weights_[i]));
  }
  if (rows.empty()) return not_found("no worker has sent running statistics yet");
  if (options_.statistic_count == 0) return std::vector<float>{};
  BALLAST_TRY(auto combined, robust::aggregate("cwmed", rows, weights));
  return std::move(combined.values);
}

}  // namespace ballast::server
