#include "ballast/store/journal.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "ballast/base/check.h"
#include "ballast/store/failpoint.h"
#include "ballast/store/statement.h"

namespace ballast::store {
namespace {

constexpr const char* kName = "journal.sqlite";
constexpr int kBusyWaitMs = 2000;  // for a reader that looks at the journal meanwhile

// AUTOINCREMENT: a position is never used twice, also when the newest records were cut.
constexpr const char* kTables[] = {
    "CREATE TABLE IF NOT EXISTS updates (position INTEGER PRIMARY KEY AUTOINCREMENT, "
    "incarnation INTEGER NOT NULL, t INTEGER NOT NULL, worker INTEGER NOT NULL, "
    "sequence INTEGER NOT NULL, version INTEGER NOT NULL, checksum INTEGER NOT NULL, "
    "verdict INTEGER NOT NULL, event INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS incarnations (number INTEGER PRIMARY KEY, "
    "generation INTEGER NOT NULL, t INTEGER NOT NULL) STRICT"};

std::filesystem::path with_suffix(const std::filesystem::path& folder, const char* suffix) {
  return folder / (std::string(kName) + suffix);
}

Status pretend(int error) {
  if (error == 0) return {};
  return io_error("the journal failed: " + std::generic_category().message(error));
}

Result<std::uint64_t> number_from(sqlite3* database, const char* sql) {
  BALLAST_TRY(Statement statement, Statement::prepare(database, sql));
  BALLAST_TRY(const bool has_row, statement.start());
  return has_row ? statement.number(0) : 0;
}

// Reads every page, so that damage shows here and not while updates are coming in.
Status check_pages(sqlite3* database) {
  BALLAST_TRY(Statement statement, Statement::prepare(database, "PRAGMA integrity_check(1)"));
  BALLAST_TRY(const bool has_row, statement.start());
  if (has_row && statement.text(0) == "ok") return {};
  return io_error("the journal is damaged");
}

Status prepare(sqlite3* database) {
  sqlite3_busy_timeout(database, kBusyWaitMs);
  BALLAST_TRY_STATUS(pretend(BALLAST_FAILPOINT("journal-open")));
  BALLAST_TRY_STATUS(execute(database, "PRAGMA journal_mode=WAL"));
  BALLAST_TRY_STATUS(execute(database, "PRAGMA synchronous=FULL"));
  BALLAST_TRY_STATUS(check_pages(database));
  for (const char* table : kTables) BALLAST_TRY_STATUS(execute(database, table));
  return {};
}

Status insert(sqlite3* database, std::span<const JournalRecord> records,
              std::uint64_t incarnation) {
  BALLAST_TRY(Statement statement,
              Statement::prepare(database,
                                 "INSERT INTO updates (incarnation, t, worker, sequence, version, "
                                 "checksum, verdict, event) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const JournalRecord& record : records) {
    BALLAST_TRY_STATUS(statement.start(
        {incarnation, record.t, record.worker, record.sequence, record.version, record.checksum,
         static_cast<std::uint64_t>(record.verdict), static_cast<std::uint64_t>(record.event)}));
  }
  return {};
}

JournalRecord read_record(const Statement& row) {
  const std::uint64_t event = std::min<std::uint64_t>(row.number(8), 2);
  return {.event = static_cast<JournalEvent>(event),
          .t = row.number(2),
          .worker = static_cast<std::uint32_t>(row.number(3)),
          .sequence = row.number(4),
          .version = row.number(5),
          .checksum = row.number(6),
          .verdict = static_cast<server::Verdict>(
              std::min<std::uint64_t>(row.number(7), server::kVerdictCount - 1)),
          .position = row.number(0),
          .incarnation = row.number(1)};
}

// Changes of one transaction; undone if `change` fails.
template <typename Change>
Status transact(sqlite3* database, Change&& change) {
  BALLAST_TRY_STATUS(execute(database, "BEGIN IMMEDIATE"));
  Status status = change();
  if (status) {
    (void)BALLAST_FAILPOINT("journal-commit");
    status = execute(database, "COMMIT");
  }
  if (!status) (void)execute(database, "ROLLBACK");
  return status;
}

}  // namespace

void Journal::Close::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }

Result<Journal> Journal::open(const std::filesystem::path& folder, const FileSystem& disk) {
  const std::filesystem::path path = folder / kName;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, disk.database_files());
  Database database(opened);
  Status status = code == SQLITE_OK ? prepare(opened) : Status(journal_error(opened));
  if (status) return Journal(std::move(database));
  return io_error(fmt::format(
      "{}: {}; move it away to resume without it, then an update that was acknowledged before the "
      "crash may be accepted again",
      path.string(), status.error().message));
}

Result<Journal> Journal::open_to_read(const std::filesystem::path& folder) {
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2((folder / kName).c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  Database database(opened);
  if (code != SQLITE_OK) return journal_error(opened);
  sqlite3_busy_timeout(opened, kBusyWaitMs);
  BALLAST_TRY_STATUS(check_pages(opened));
  return Journal(std::move(database));
}

Status Journal::remove(FileSystem& disk, const std::filesystem::path& folder) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    BALLAST_TRY_STATUS(disk.remove_tree(with_suffix(folder, suffix)));
  }
  return {};
}

Result<Incarnation> Journal::begin(std::uint64_t number_min, std::uint64_t generation,
                                   std::uint64_t t) {
  BALLAST_TRY(const std::uint64_t last,
              number_from(database_.get(), "SELECT max(number) FROM incarnations"));
  const Incarnation life = {
      .number = std::max(last, number_min) + 1, .generation = generation, .t = t};
  BALLAST_TRY_STATUS(execute(database_.get(), "INSERT INTO incarnations VALUES (?, ?, ?)",
                             {life.number, generation, t}));
  incarnation_ = life.number;
  return life;
}

Status Journal::append(std::span<const JournalRecord> records) {
  BALLAST_CHECK(incarnation_ > 0, "a journal is written to after begin()");
  BALLAST_TRY_STATUS(pretend(BALLAST_FAILPOINT("journal-append")));
  return transact(database_.get(), [&] { return insert(database_.get(), records, incarnation_); });
}

Status Journal::cut(std::uint64_t position) {
  BALLAST_TRY_STATUS(pretend(BALLAST_FAILPOINT("journal-cut")));
  return execute(database_.get(), "DELETE FROM updates WHERE position <= ?", {position});
}

Result<std::uint64_t> Journal::last_position() const {
  return number_from(database_.get(), "SELECT seq FROM sqlite_sequence WHERE name = 'updates'");
}

Result<std::uint64_t> Journal::record_count() const {
  return number_from(database_.get(), "SELECT count(*) FROM updates");
}

Result<std::vector<Incarnation>> Journal::incarnations() const {
  BALLAST_TRY(Statement row,
              Statement::prepare(database_.get(),
                                 "SELECT number, generation, t FROM incarnations ORDER BY number"));
  std::vector<Incarnation> lives;
  BALLAST_TRY(bool has_row, row.start());
  while (has_row) {
    lives.push_back({.number = row.number(0), .generation = row.number(1), .t = row.number(2)});
    BALLAST_TRY(has_row, row.next());
  }
  return lives;
}

Result<std::vector<JournalRecord>> Journal::records(std::uint64_t after_position) const {
  BALLAST_TRY(Statement row,
              Statement::prepare(database_.get(),
                                 "SELECT position, incarnation, t, worker, sequence, version, "
                                 "checksum, verdict, event FROM updates WHERE position > ? "
                                 "ORDER BY position"));
  std::vector<JournalRecord> records;
  BALLAST_TRY(bool has_row, row.start({after_position}));
  while (has_row) {
    records.push_back(read_record(row));
    BALLAST_TRY(has_row, row.next());
  }
  return records;
}

Result<std::vector<std::uint64_t>> Journal::acknowledged_sequences(std::size_t worker_count) const {
  BALLAST_TRY(Statement row,
              Statement::prepare(database_.get(),
                                 "SELECT worker, sequence FROM updates WHERE verdict = ? "
                                 "AND event = 0"));
  // Compared here, not in SQL: a worker may choose a sequence number that is negative there.
  std::vector<std::uint64_t> sequences(worker_count);
  BALLAST_TRY(bool has_row, row.start({static_cast<std::uint64_t>(server::Verdict::kAccepted)}));
  while (has_row) {
    const std::uint64_t worker = row.number(0);
    if (worker < worker_count) sequences[worker] = std::max(sequences[worker], row.number(1));
    BALLAST_TRY(has_row, row.next());
  }
  return sequences;
}

}  // namespace ballast::store
