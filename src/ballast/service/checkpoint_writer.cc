#include "ballast/service/checkpoint_writer.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "ballast/server/state.h"
#include "ballast/store/checksum.h"

namespace ballast::service {
namespace {

store::RunShape shape_of(const CheckpointWriterOptions& options,
                         const server::ParameterServer& server) {
  return {.config = options.configuration,
          .worker_count = server.options().worker_count,
          .dim = server.dim(),
          .statistic_count = server.options().statistic_count};
}

// How many updates had been accepted when the server ended. A life that accepted nothing, maybe
// because it died while it began, knows no more than the one before it.
Result<std::uint64_t> reached_before(const store::Store& store) {
  BALLAST_TRY(auto lives, store.journal().incarnations());
  BALLAST_TRY(const auto records, store.journal().records());
  std::erase_if(lives, [&](const auto& life) { return life.number == store.incarnation(); });
  std::ranges::sort(lives, std::ranges::greater(), &store::Incarnation::number);
  std::uint64_t reached = 0;
  for (const store::Incarnation& life : lives) {
    reached = std::max(reached, life.t);
    bool has_records = false;
    for (const store::JournalRecord& record : records) {
      if (record.incarnation != life.number) continue;
      has_records = true;
      reached = std::max(reached, record.t);
    }
    if (has_records) break;
  }
  return reached;
}

}  // namespace

Result<CheckpointWriter> CheckpointWriter::open(const CheckpointWriterOptions& options,
                                                server::ParameterServer& server) {
  CheckpointWriter checkpoints(options);
  checkpoints.places_ = server.worker_count();
  if (checkpoints.workers_.empty()) {
    for (const std::string& name : server.admission().names) {
      checkpoints.workers_.push_back({.name = name, .certificate = {}});
    }
  }
  if (options.folder.empty()) return checkpoints;
  BALLAST_TRY_STATUS(options.is_resume ? checkpoints.resume(options, server)
                                       : checkpoints.create(options, server));
  checkpoints.saved_count_ = server.accepted_count();
  checkpoints.policy_.note_saved(checkpoints.saved_count_, checkpoints.now());
  return checkpoints;
}

Status CheckpointWriter::create(const CheckpointWriterOptions& options,
                                const server::ParameterServer& server) {
  BALLAST_TRY(
      store::Store created,
      store::Store::create(options.folder, options.run, shape_of(options, server), server.state(),
                           clock_().time_since_epoch().count(), *options.disk, workers_));
  store_.emplace(std::move(created));
  generation_ = 1;
  return {};
}

Status CheckpointWriter::resume(const CheckpointWriterOptions& options,
                                server::ParameterServer& server) {
  BALLAST_TRY(store::Resumed resumed,
              store::Store::resume(options.folder, shape_of(options, server), *options.disk));
  BALLAST_TRY_STATUS(server.restore(std::move(resumed.state)));
  // Those that belong to the restored rows: an older checkpoint than the newest may be all that is
  // whole, and its rows are of an older certificate.
  for (std::size_t i = 0; i < std::min(workers_.size(), resumed.workers.size()); ++i) {
    workers_[i].certificate = resumed.workers[i].certificate;
  }
  ResumeFacts facts{.generation = resumed.generation,
                    .accepted = server.accepted_count(),
                    .damages = std::move(resumed.damages)};
  BALLAST_TRY(const std::uint64_t reached, reached_before(resumed.store));
  facts.lost = reached > facts.accepted ? reached - facts.accepted : 0;
  store_.emplace(std::move(resumed.store));
  generation_ = resumed.generation;
  resumed_ = std::move(facts);
  saved_count_ = server.accepted_count();
  // Whoever is new sends only once a checkpoint knows its number.
  are_workers_new_ = workers_.size() != resumed.workers.size();
  BALLAST_TRY_STATUS(save(server));
  return {};
}

void CheckpointWriter::note_certificate(std::uint32_t worker, const std::string& certificate) {
  std::string& known = workers_[worker].certificate;
  if (known == certificate) return;
  known = certificate;
  are_workers_new_ = true;
}

Status CheckpointWriter::enrol(const server::ParameterServer& server, const std::string& name) {
  const auto number = static_cast<std::uint32_t>(workers_.size());
  workers_.push_back({.name = name, .certificate = {}});
  if (!store_) return {};
  are_workers_new_ = true;
  const store::JournalRecord record{
      .event = store::JournalEvent::kEnrolment, .t = server.accepted_count(), .worker = number};
  Status kept = store_->append(std::span(&record, 1));
  if (kept) {
    auto saved = save(server);
    if (!saved) kept = tl::unexpected(std::move(saved).error());
  }
  if (!kept) workers_.pop_back();
  return kept;
}

Status CheckpointWriter::journal(std::uint64_t accepted_count,
                                 const transport::JudgedUpdate& update) {
  if (!store_) return {};
  std::vector<store::JournalRecord> records = removals(accepted_count - 1);
  records.push_back({.t = accepted_count,
                     .worker = update.worker,
                     .sequence = update.ticket.sequence,
                     .version = update.ticket.version,
                     .checksum = store::checksum_of(update.values),
                     .verdict = update.outcome.verdict});
  BALLAST_TRY_STATUS(store_->append(records));
  removed_.clear();
  return {};
}

std::vector<store::JournalRecord> CheckpointWriter::removals(std::uint64_t accepted_count) const {
  std::vector<store::JournalRecord> records;
  for (const std::uint32_t worker : removed_) {
    records.push_back(
        {.event = store::JournalEvent::kRemoval, .t = accepted_count, .worker = worker});
  }
  return records;
}

Result<std::optional<store::SaveReport>> CheckpointWriter::save_if_due(
    const server::ParameterServer& server) {
  if (!store_ || !policy_.is_due(server.accepted_count(), now())) return std::nullopt;
  return save(server);
}

Result<std::optional<store::SaveReport>> CheckpointWriter::save(
    const server::ParameterServer& server) {
  if (!store_ || !has_news(server)) return std::nullopt;
  // Noted before it is tried: a disk that is full is asked again after the next interval.
  policy_.note_saved(server.accepted_count(), now());
  if (!removed_.empty()) {
    BALLAST_TRY_STATUS(store_->append(removals(server.accepted_count())));
    removed_.clear();
  }
  BALLAST_TRY_STATUS(store_->set_workers(workers_));
  auto saved = store_->save(server.state(), clock_().time_since_epoch().count());
  if (!saved) {
    ++failure_count_;
    return tl::unexpected(std::move(saved).error());
  }
  store::SaveReport report = *std::move(saved);
  saved_count_ = server.accepted_count();
  are_workers_new_ = false;
  generation_ = report.generation;
  return report;
}

server::Instant CheckpointWriter::now() const {
  return std::chrono::duration_cast<server::Instant>(std::chrono::steady_clock::now() - start_);
}

}  // namespace ballast::service
