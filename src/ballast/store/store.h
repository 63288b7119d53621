#pragma once
// A folder with the durable state of one run: generations of checkpoints and the journal.
//
// The newest generation is what a server resumes from; the one before it is kept in case the newest
// is damaged. The two share no file, so one bad sector cannot harm both: vectors that did not
// change are linked to the generation before the previous one. docs/durable-state.md has the
// formats and says what is lost in a crash.
//
// Invariants: (1) the generations `newer` and `older` are on the disk in full; (2) every state that
// is saved descends from them, so equal revisions mean equal vectors; (3) one process writes at
// a time.
//
// Thread-safety: none; one thread at a time, and the state must not change while it is saved.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/state.h"
#include "ballast/store/file_system.h"
#include "ballast/store/journal.h"
#include "ballast/store/manifest.h"
#include "ballast/store/save_report.h"

namespace ballast::store {

struct Resumed;

class Store {
 public:
  // Starts the durable state of a new run and saves its first generation, so that there is always
  // one to go back to. Makes the folder if its parent exists. Refuses a folder that holds a
  // checkpoint already, a run's or configuration's name that is not short printable ASCII, and
  // workers that check_workers() refuses.
  static Result<Store> create(const std::filesystem::path& folder, std::string run, RunShape shape,
                              const server::ServerStateView& state, std::int64_t now_s,
                              FileSystem& disk = operating_system(),
                              std::vector<EnrolledWorker> workers = {});

  // Goes on from the newest generation whose files are all undamaged. Begins a new incarnation, and
  // raises the workers' sequence numbers to those that were acknowledged after the checkpoint, so
  // that an update which was acknowledged once is refused for ever. An error if there is no intact
  // generation, if it is one of another configuration or of more workers, or if the journal is
  // damaged.
  static Result<Resumed> resume(const std::filesystem::path& folder, const RunShape& shape,
                                FileSystem& disk = operating_system());

  // Who the numbers of the workers belong to, for the generations from now on. Refuses workers that
  // check_workers() refuses.
  Status set_workers(std::vector<EnrolledWorker> workers);

  // Saves the state as the next generation and, once that is durable, removes all but the two
  // newest. On an error the generations before it are untouched, and the store can be used on.
  //
  // Requires: the state of the server that this store was created or resumed with.
  // Cost: writes w, x and the vectors that changed since the last but one save; flushes each file.
  Result<SaveReport> save(const server::ServerStateView& state, std::int64_t now_s);

  // Notes updates in one transaction, on the disk when it returns. To be called before any of them
  // is acknowledged; if it fails, none may be.
  // Cost: one flush, whatever the number of records.
  Status append(std::span<const JournalRecord> records) { return journal_.append(records); }

  const Journal& journal() const noexcept { return journal_; }
  const std::string& run() const noexcept { return run_; }
  std::uint64_t incarnation() const noexcept { return incarnation_; }

 private:
  Store(FileSystem& disk, std::filesystem::path folder, std::unique_ptr<FolderLock> lock,
        Journal journal);
  Status retire();

  FileSystem* disk_;
  std::filesystem::path folder_;
  std::unique_ptr<FolderLock> lock_;
  Journal journal_;
  std::string run_;
  RunShape shape_;
  std::vector<EnrolledWorker> workers_;
  std::uint64_t incarnation_ = 0;
  std::optional<Manifest> newer_;
  std::optional<Manifest> older_;
};

// Whether another process, or another Store of this one, works on the folder, as far as one can
// tell: a folder that cannot be locked counts.
bool is_in_use(const std::filesystem::path& folder);

struct Resumed {
  Store store;
  server::ServerState state;
  std::vector<EnrolledWorker> workers;
  std::uint64_t generation = 0;
  std::vector<std::string> damages;  // of newer generations that could not be used, newest first
};

}  // namespace ballast::store
