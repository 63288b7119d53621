#include "ballast/store/store.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/store/failpoint.h"
#include "ballast/store/generation.h"

namespace ballast::store {
namespace {

namespace fs = std::filesystem;

Status check_text(const std::string& text, std::string_view what) {
  const bool is_printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  if (is_printable && text.size() <= kTextBytesMax) return {};
  return invalid_argument(
      fmt::format("the {} must be printable ASCII of at most {} characters", what, kTextBytesMax));
}

void check_shape(const RunShape& shape, const server::ServerStateView& state) {
  BALLAST_CHECK(state.senders.size() == shape.worker_count && state.w.size() == shape.dim,
                "the state has another shape than the store");
}

Status make_sure_folder_exists(FileSystem& disk, const fs::path& folder) {
  if (disk.exists(folder)) return {};
  std::error_code reason;
  BALLAST_TRY_STATUS(disk.make_folder(folder));
  const fs::path parent = fs::absolute(folder, reason).parent_path();
  return reason ? Status(io_error(reason.message())) : disk.sync_folder(parent);
}

struct Loaded {
  Manifest manifest;
  server::ServerState state;
  std::vector<std::string> damages;
};

Result<Loaded> load(const FileSystem& disk, const fs::path& folder, std::uint64_t number) {
  BALLAST_TRY(Manifest manifest, read_manifest(folder, number, disk));
  BALLAST_TRY(server::ServerState state, read_state(folder, manifest, disk));
  return Loaded{std::move(manifest), std::move(state), {}};
}

// Another configuration is not a damage: going back further would not help.
Status check_configuration(const FileSystem& disk, const fs::path& folder, std::uint64_t number,
                           const RunShape& shape) {
  const auto manifest = read_manifest(folder, number, disk);
  return manifest ? check_fits(shape, manifest->shape) : Status();
}

Result<Loaded> load_newest(const FileSystem& disk, const fs::path& folder, const RunShape& shape) {
  BALLAST_TRY(const auto numbers, list_generations(folder, disk));
  if (numbers.empty()) {
    return not_found(fmt::format("{}: holds no checkpoint", folder.string()));
  }
  std::vector<std::string> damages;
  for (const std::uint64_t number : numbers) {
    BALLAST_TRY_STATUS(check_configuration(disk, folder, number, shape));
    auto loaded = load(disk, folder, number);
    // Of another version, and intact for all we know.
    if (!loaded && loaded.error().code == ErrorCode::kUnsupported) return loaded;
    if (!loaded) {
      damages.push_back(std::move(loaded).error().message);
      continue;
    }
    loaded->damages = std::move(damages);
    return loaded;
  }
  return io_error(
      fmt::format("{}: no checkpoint is intact; the newest: {}", folder.string(), damages.front()));
}

// Updates that were acknowledged after the checkpoint are lost, but never accepted again: also
// those of workers that came after the checkpoint.
Status raise_sequences(const Journal& journal, std::size_t worker_count,
                       server::ServerState& state) {
  state.senders.resize(worker_count);
  state.statistics.resize(worker_count);
  BALLAST_TRY(const auto sequences, journal.acknowledged_sequences(state.senders.size()));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::uint64_t& sequence = state.senders[i].sequence;
    sequence = std::max(sequence, sequences[i]);
  }
  return {};
}

}  // namespace

Store::Store(FileSystem& disk, fs::path folder, std::unique_ptr<FolderLock> lock, Journal journal)
    : disk_(&disk),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      journal_(std::move(journal)) {}

bool is_in_use(const fs::path& folder) { return !operating_system().lock(folder); }

Result<Store> Store::create(const fs::path& folder, std::string run, RunShape shape,
                            const server::ServerStateView& state, std::int64_t now_s,
                            FileSystem& disk, std::vector<EnrolledWorker> workers) {
  BALLAST_TRY_STATUS(check_text(run, "name of the run"));
  BALLAST_TRY_STATUS(check_text(shape.config, "name of the configuration"));
  BALLAST_TRY_STATUS(make_sure_folder_exists(disk, folder));
  BALLAST_TRY(auto lock, disk.lock(folder));
  BALLAST_TRY(const auto numbers, list_generations(folder, disk));
  if (!numbers.empty()) {
    return invalid_argument(fmt::format(
        "{}: holds a checkpoint already; resume from it, or name another folder", folder.string()));
  }
  // Without a generation nothing was ever acknowledged: this is left from a start that failed.
  BALLAST_TRY_STATUS(Journal::remove(disk, folder));
  BALLAST_TRY(Journal journal, Journal::open(folder, disk));
  BALLAST_TRY(const Incarnation life, journal.begin(0, 0, 0));
  Store store(disk, folder, std::move(lock), std::move(journal));
  store.run_ = std::move(run);
  store.shape_ = std::move(shape);
  store.incarnation_ = life.number;
  BALLAST_TRY_STATUS(store.set_workers(std::move(workers)));
  BALLAST_TRY_STATUS(store.save(state, now_s));
  return store;
}

Result<Resumed> Store::resume(const fs::path& folder, const RunShape& shape, FileSystem& disk) {
  BALLAST_TRY(auto lock, disk.lock(folder));
  BALLAST_TRY(Loaded loaded, load_newest(disk, folder, shape));
  BALLAST_TRY(Journal journal, Journal::open(folder, disk));
  BALLAST_TRY_STATUS(raise_sequences(journal, shape.worker_count, loaded.state));
  const Manifest& manifest = loaded.manifest;
  BALLAST_TRY(const Incarnation life,
              journal.begin(manifest.incarnation, manifest.generation, manifest.accepted_count));
  // SQLite flushes the name of its log too, but does not ask whether that succeeded: a log whose
  // name is lost with the power takes this life's number with it, and all it acknowledges.
  BALLAST_TRY_STATUS(disk.sync_folder(folder));
  Store store(disk, folder, std::move(lock), std::move(journal));
  store.run_ = manifest.run;
  store.shape_ = shape;  // maybe with more workers than the checkpoint
  store.incarnation_ = life.number;
  const std::uint64_t generation = manifest.generation;
  store.workers_ = manifest.workers;
  store.newer_ = std::move(loaded.manifest);
  std::vector<EnrolledWorker> workers = store.workers_;
  return Resumed{std::move(store), std::move(loaded.state), std::move(workers), generation,
                 std::move(loaded.damages)};
}

Status Store::set_workers(std::vector<EnrolledWorker> workers) {
  if (const Status checked = check_workers(workers, shape_.worker_count); !checked) {
    return invalid_argument("the enrolled workers " + checked.error().message);
  }
  workers_ = std::move(workers);
  return {};
}

Result<SaveReport> Store::save(const server::ServerStateView& state, std::int64_t now_s) {
  check_shape(shape_, state);
  BALLAST_TRY_STATUS(remove_leftovers(*disk_, folder_));
  BALLAST_TRY(const auto numbers, list_generations(folder_, *disk_));
  BALLAST_TRY(const std::uint64_t position, journal_.last_position());
  Manifest manifest;
  manifest.generation = numbers.empty() ? 1 : numbers.front() + 1;
  manifest.created_s = now_s;
  manifest.run = run_;
  manifest.incarnation = incarnation_;
  manifest.shape = shape_;
  manifest.workers = workers_;
  manifest.accepted_count = state.accepted_count;
  manifest.unknown_count = state.unknown_count;
  manifest.steps = state.steps;
  manifest.journal_position = position;
  BALLAST_TRY(SaveReport report,
              write_generation(*disk_, folder_, manifest, state, older_ ? &*older_ : nullptr));
  (void)BALLAST_FAILPOINT("after-commit");
  older_ = std::exchange(newer_, std::move(manifest));
  if (const Status status = retire(); !status) report.warning = status.error().message;
  (void)BALLAST_FAILPOINT("after-generation");
  return report;
}

// Removes what the two newest intact generations make superfluous.
Status Store::retire() {
  BALLAST_TRY(const auto numbers, list_generations(folder_, *disk_));
  for (const std::uint64_t number : numbers) {
    const bool is_kept = number == newer_->generation || (older_ && number == older_->generation);
    if (!is_kept) BALLAST_TRY_STATUS(remove_generation(*disk_, folder_, number));
  }
  return older_ ? journal_.cut(older_->journal_position) : Status();
}

}  // namespace ballast::store
