#include "ballast/service/keeper.h"

#include <utility>

#include "ballast/server/state.h"
#include "ballast/store/checksum.h"

namespace ballast::service {
namespace {

store::RunShape shape_of(const KeeperOptions& options, const server::ParameterServer& server) {
  return {.config = options.configuration,
          .worker_count = server.options().worker_count,
          .dim = server.dim(),
          .statistic_count = server.options().statistic_count};
}

}  // namespace

Result<Keeper> Keeper::open(const KeeperOptions& options, server::ParameterServer& server) {
  Keeper keeper(options);
  if (options.folder.empty()) return keeper;
  BALLAST_TRY_STATUS(options.is_resume ? keeper.resume(options, server)
                                       : keeper.create(options, server));
  keeper.saved_count_ = server.accepted_count();
  keeper.policy_.note_saved(keeper.saved_count_, keeper.now());
  return keeper;
}

Status Keeper::create(const KeeperOptions& options, const server::ParameterServer& server) {
  BALLAST_TRY(store::Store created,
              store::Store::create(options.folder, options.run, shape_of(options, server),
                                   server.state(), clock_().time_since_epoch().count()));
  store_.emplace(std::move(created));
  generation_ = 1;
  return {};
}

Status Keeper::resume(const KeeperOptions& options, server::ParameterServer& server) {
  BALLAST_TRY(store::Resumed resumed,
              store::Store::resume(options.folder, shape_of(options, server)));
  BALLAST_TRY_STATUS(server.restore(std::move(resumed.state)));
  store_.emplace(std::move(resumed.store));
  generation_ = resumed.generation;
  damages_ = std::move(resumed.damages);
  return {};
}

Status Keeper::note(std::uint64_t accepted_count, const transport::JudgedUpdate& update) {
  if (!store_) return {};
  const store::JournalRecord record{.t = accepted_count,
                                    .worker = update.worker,
                                    .sequence = update.ticket.sequence,
                                    .version = update.ticket.version,
                                    .checksum = store::checksum_of(update.values),
                                    .verdict = update.outcome.verdict};
  return store_->append({&record, 1});
}

Result<std::optional<store::SaveReport>> Keeper::save_if_due(
    const server::ParameterServer& server) {
  if (!store_ || !policy_.is_due(server.accepted_count(), now())) return std::nullopt;
  return save(server);
}

Result<std::optional<store::SaveReport>> Keeper::save(const server::ParameterServer& server) {
  if (!store_ || server.accepted_count() == saved_count_) return std::nullopt;
  // Noted before it is tried: a disk that is full is asked again after the next interval.
  policy_.note_saved(server.accepted_count(), now());
  BALLAST_TRY(store::SaveReport report,
              store_->save(server.state(), clock_().time_since_epoch().count()));
  saved_count_ = server.accepted_count();
  generation_ = report.generation;
  return report;
}

server::Instant Keeper::now() const {
  return std::chrono::duration_cast<server::Instant>(std::chrono::steady_clock::now() - start_);
}

}  // namespace ballast::service
