#include "ballast/server/parameter_server.h"

#include <algorithm>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/ieee_arithmetic.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/server/weight_policy.h"

namespace ballast::server {

Result<ParameterServer> ParameterServer::make(const ServerOptions& options, ServerParts parts) {
  BALLAST_CHECK(parts.method != nullptr && parts.optimizer != nullptr,
                "a server needs all of its parts");
  BALLAST_TRY(Admission admission, Admission::make(options.admission, options.worker_count,
                                                   {.dim = parts.optimizer->model()->size(),
                                                    .statistic_count = options.statistic_count}));
  return ParameterServer(options, std::move(parts), std::move(admission));
}

ParameterServer::ParameterServer(const ServerOptions& options, ServerParts parts,
                                 Admission admission)
    : options_(options),
      admission_(std::move(admission)),
      method_(std::move(parts.method)),
      optimizer_(std::move(parts.optimizer)),
      statistics_(options.worker_count),
      dim_(optimizer_->model()->size()) {
  publish();
}

Judgement ParameterServer::on_update(const Update& update, Instant now) {
  const IeeeArithmetic ieee;
  Outcome outcome = {.verdict = admission_.judge(update, newest_.version)};
  if (outcome.verdict == Verdict::kUnknownWorker) {
    ++unknown_count_;
    return {.outcome = outcome, .next = std::nullopt};
  }
  BALLAST_CHECK(update.memory == nullptr || update.memory->values().data() == update.values.data(),
                "the values lie in the memory that comes with them");
  const Snapshot before = newest_;
  Answer answer = Answer::refused();
  if (outcome.verdict == Verdict::kAccepted) {
    outcome.staleness = newest_.version - update.ticket.version;
    answer = method_->on_update({.worker = update.worker,
                                 .number = accepted_count_ + 1,
                                 .computed_version = update.ticket.version,
                                 .staleness = outcome.staleness,
                                 .newest = before,
                                 .values = update.values,
                                 .memory = update.memory});
    if (answer.kind == Answer::Kind::kRefused) outcome = {.verdict = Verdict::kFiltered};
  }
  admission_.note(update.worker, outcome.verdict);
  if (outcome.verdict != Verdict::kAccepted) {
    return {.outcome = outcome, .next = assign(update.worker, newest_, now)};
  }
  admission_.note_accepted(update, outcome.staleness, now);
  statistics_[update.worker].assign(update.statistics.begin(), update.statistics.end());
  ++accepted_count_;
  if (answer.kind == Answer::Kind::kDirection) {
    outcome.has_stepped = step(answer);
    outcome.has_diverged = !outcome.has_stepped;
  }
  const Snapshot& reply = options_.reply == Reply::kPaper ? before : newest_;
  return {.outcome = outcome, .next = assign(update.worker, reply, now)};
}

// False if the step would leave the finite numbers; the model then stays where it is.
bool ParameterServer::step(const Answer& answer) {
  const Status is_taken = answer.vector != nullptr ? optimizer_->step(*answer.vector, answer.scale)
                                                   : optimizer_->step(answer.values, answer.scale);
  if (!is_taken) return false;
  publish();
  return true;
}

void ParameterServer::publish() {
  newest_ = {.version = optimizer_->version(),
             .values = options_.shows_models ? optimizer_->model() : nullptr};
}

Result<std::uint32_t> ParameterServer::enrol(std::string name) {
  BALLAST_TRY(const std::uint32_t worker, admission_.enrol(std::move(name)));
  method_->on_enrol();
  return worker;
}

std::optional<Assignment> ParameterServer::on_join(std::uint32_t worker, Memory memory,
                                                   Instant now) {
  if (memory == Memory::kFresh && method_->worker(worker).count > 0) forget(worker);
  return assign(worker, newest_, now);
}

std::optional<Assignment> ParameterServer::assign(std::uint32_t worker, const Snapshot& model,
                                                  Instant now) {
  const auto ticket = admission_.issue(worker, model.version, method_->wants(worker), now);
  if (!ticket) return std::nullopt;
  return Assignment{.ticket = *ticket,
                    .model = model,
                    .count = method_->worker(worker).count,
                    .accepted_sequence = admission_.sender(worker).sequence};
}

void ParameterServer::refuse(std::uint32_t worker, Verdict verdict) {
  BALLAST_CHECK(verdict != Verdict::kAccepted, "a refusal");
  admission_.note(worker, verdict);
}

void ParameterServer::on_leave(std::uint32_t worker, Instant now) {
  admission_.withdraw(worker, now);
  forget(worker);
}

// When the last rows go that were needed, what they said together is kept for evaluations. A method
// that is always ready needs one worker.
void ParameterServer::forget(std::uint32_t worker) {
  auto before = statistics();
  method_->remove(worker);
  statistics_[worker].clear();
  if (!has_statistics()) last_statistics_ = std::move(before);
}

bool ParameterServer::has_statistics() const {
  if (!method_->is_ready()) return false;
  for (std::uint32_t i = 0; i < options_.worker_count; ++i) {
    if (method_->worker(i).count > 0) return true;
  }
  return false;
}

std::vector<Assignment> ParameterServer::release(Instant now) {
  std::vector<Assignment> released;
  for (std::uint32_t worker = 0; worker < options_.worker_count; ++worker) {
    if (!admission_.is_held(worker)) continue;
    if (auto next = assign(worker, newest_, now)) released.push_back(*std::move(next));
  }
  return released;
}

std::vector<std::uint32_t> ParameterServer::evict_silent(Instant now) {
  std::vector<std::uint32_t> evicted;
  for (std::uint32_t worker = 0; worker < options_.worker_count; ++worker) {
    if (!admission_.is_silent(worker, method_->worker(worker).count > 0, now)) continue;
    on_leave(worker, now);
    evicted.push_back(worker);
    ++eviction_count_;
  }
  return evicted;
}

WorkerRecord ParameterServer::worker(std::uint32_t worker) const {
  const SenderRecord& sender = admission_.sender(worker);
  const WorkerShare share = method_->worker(worker);
  return {.count = share.count,
          .lifetime_count = sender.lifetime_count(),
          .sequence = sender.sequence,
          .weight = share.weight,
          .kept = share.kept,
          .staleness = sender.staleness,
          .last_seen = sender.last_seen,
          .given = sender.ticket ? std::optional(sender.ticket->version) : std::nullopt,
          .verdicts = sender.verdicts};
}

std::optional<std::string> ParameterServer::pause_reason() const {
  if (method_->is_ready()) return std::nullopt;
  return method_->pause_reason();
}

std::optional<std::vector<float>> ParameterServer::statistics() const {
  return has_statistics() ? combined_statistics() : last_statistics_;
}

// Every worker that has a part in the model counts by its weight, or by one where the method gives
// no weights.
std::optional<std::vector<float>> ParameterServer::combined_statistics() const {
  std::vector<const float*> rows;
  std::vector<double> weights;
  bool has_weights = false;
  for (std::uint32_t i = 0; i < options_.worker_count; ++i) {
    has_weights = has_weights || method_->worker(i).weight > 0;
  }
  for (std::uint32_t i = 0; i < options_.worker_count; ++i) {
    const WorkerShare share = method_->worker(i);
    if (has_weights ? share.weight == 0 : share.count == 0) continue;
    rows.push_back(statistics_[i].data());
    weights.push_back(has_weights ? static_cast<double>(share.weight) / kWeightUnits : 1.0);
  }
  if (rows.empty()) return std::nullopt;
  std::vector<float> combined(options_.statistic_count);
  if (combined.empty()) return combined;
  const auto median = robust::make_cwmed();
  robust::Workspace workspace;
  const auto report = robust::aggregate(*median, {rows, combined.size()}, weights, combined,
                                        *kernels::make_cpu_backend(1), workspace);
  BALLAST_CHECK(report.has_value(), "statistics that were let through have a median");
  return combined;
}

}  // namespace ballast::server
