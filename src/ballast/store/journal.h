#pragma once
// The journal: a line for each update that was acknowledged, on the disk before the acknowledgement
// leaves, and for each worker that was removed. It does not hold the vectors, so it cannot bring an
// update back; it proves which ones were lost with a crash, and lets a restored server refuse one
// that it has acknowledged already.
//
// An SQLite database with a write-ahead log and a flush per transaction (synchronous=FULL).
//
// Thread-safety: none; one thread at a time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/update.h"
#include "ballast/store/file_system.h"

struct sqlite3;  // of sqlite3.h

namespace ballast::store {

// What a record tells of.
enum class JournalEvent : std::uint8_t {
  kUpdate,     // was accepted
  kRemoval,    // of what the method held of a worker: it left, was silent or started anew
  kEnrolment,  // of a worker, which may join once the next checkpoint is there
};

struct JournalRecord {
  JournalEvent event = JournalEvent::kUpdate;
  std::uint64_t t = 0;  // updates accepted up to and including this one
  std::uint32_t worker = 0;
  std::uint64_t sequence = 0;
  std::uint64_t version = 0;   // of the model it was computed on
  std::uint64_t checksum = 0;  // of its values: checksum_of() in checksum.h
  server::Verdict verdict = server::Verdict::kAccepted;

  // Set by append().
  std::uint64_t position = 0;  // rises from record to record, whatever is cut
  std::uint64_t incarnation = 0;

  bool operator==(const JournalRecord&) const = default;
};

// One life of the server, from a start or a resume to its end.
struct Incarnation {
  std::uint64_t number = 0;
  std::uint64_t generation = 0;  // it went on from; 0: from nothing
  std::uint64_t t = 0;           // accepted updates in that generation
};

class Journal {
 public:
  // Opens the journal of a folder; makes an empty one if there is none. An error if it is damaged.
  static Result<Journal> open(const std::filesystem::path& folder,
                              const FileSystem& disk = operating_system());

  // The same for looking only, while a server may be writing. An error if there is none.
  static Result<Journal> open_to_read(const std::filesystem::path& folder);

  // Removes the journal of a folder, if there is one.
  static Status remove(FileSystem& disk, const std::filesystem::path& folder);

  // Notes that a new life begins; its number is one above the last, and above `number_min`.
  Result<Incarnation> begin(std::uint64_t number_min, std::uint64_t generation, std::uint64_t t);

  // Adds the records in one transaction: when it returns they are on the disk, or none is.
  // Requires: begin() was called. Sets position and incarnation of the copies it writes.
  Status append(std::span<const JournalRecord> records);

  // Forgets the records up to a position.
  Status cut(std::uint64_t position);

  Result<std::uint64_t> last_position() const;
  Result<std::uint64_t> record_count() const;
  Result<std::vector<Incarnation>> incarnations() const;

  // The records after a position, in order.
  Result<std::vector<JournalRecord>> records(std::uint64_t after_position = 0) const;

  // For each worker the largest sequence number that any life accepted; 0 if none is on record.
  Result<std::vector<std::uint64_t>> acknowledged_sequences(std::size_t worker_count) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };
  using Database = std::unique_ptr<sqlite3, Close>;
  explicit Journal(Database database) : database_(std::move(database)) {}

  Database database_;
  std::uint64_t incarnation_ = 0;
};

}  // namespace ballast::store
