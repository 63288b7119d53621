#pragma once
// A disk in memory that forgets at a crash what was not flushed, for the store and, through
// SQLite's own seam, for the journal.
//
// A file has the bytes that a reader sees and the bytes that are on the medium; a flush makes them
// equal. A name is on the medium once its folder was flushed. A loss of power keeps of the names a
// prefix of what was changed since, in order, as file systems with a journal do; and of the bytes
// of each file any mixture of old and new sectors, which is what programs must expect.
//
// Every call that changes something is counted, so that a simulation can let the machine die at any
// of them, or one of them fail.
//
// Thread-safety: none; one simulation owns a disk.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/base/rng.h"
#include "ballast/store/file_system.h"

namespace ballast::simulate {

class DatabaseFiles;  // database_files.h

// A file or a folder.
struct DiskNode {
  bool is_folder = false;
  bool is_flushed = true;          // whether `bytes` and `flushed` are equal
  std::vector<std::byte> bytes;    // as a reader sees them
  std::vector<std::byte> flushed;  // as they are on the medium
  std::map<std::string, std::shared_ptr<DiskNode>> names;
  std::map<std::string, std::shared_ptr<DiskNode>> flushed_names;
};
using DiskNodePointer = std::shared_ptr<DiskNode>;

enum class PowerLoss : std::uint8_t {
  kNone,  // the process was killed: the operating system still writes everything
  kTorn,  // what was not flushed is there, or not, or in parts
};

class Disk final : public store::FileSystem {
 public:
  Disk();
  ~Disk() override;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // Another disk that holds the same, as a reader sees it now. It never fails.
  std::unique_ptr<Disk> copy() const;

  // Faults. The n-th change from now on, n = 1 being the next.
  void die_at(std::uint64_t change) { death_ = changes_ + change; }
  void fail_at(std::uint64_t change, int error);
  void kill() { is_dead_ = true; }  // at once
  // No room for new files, or for anything.
  void fill(bool also_the_database);
  void heal();  // no fault is planned any more, and there is room

  // A dead disk changes nothing any more; whoever writes to it has ended.
  bool is_dead() const noexcept { return is_dead_; }
  // The machine comes back with what is left.
  void restart(PowerLoss loss, Rng& rng);
  // Changes a byte of one file of the folder, on the medium too. False: there is no such file.
  bool damage(const Path& folder, Rng& rng);

  std::uint64_t fault_count() const noexcept { return faults_; }  // changes that failed
  std::uint64_t bytes() const;  // of all files, those with several names once
  std::size_t file_count() const;

  Result<std::unique_ptr<store::NewFile>> create(const Path& path, std::uint64_t bytes) override;
  Status make_folder(const Path& path) override;
  Status sync_folder(const Path& path) override;
  Status rename(const Path& from, const Path& to) override;
  Status link(const Path& from, const Path& to) override;
  Status remove_tree(const Path& path) override;
  Result<std::unique_ptr<store::FolderLock>> lock(const Path& folder) override;
  Result<std::unique_ptr<files::ByteSource>> open(const Path& path) const override;
  bool exists(const Path& path) const override { return find(path) != nullptr; }
  Result<std::vector<std::string>> list(const Path& folder) const override;
  const char* database_files() const noexcept override;

  // For files that are written in any order: the database's. An error is one of errno, 0: none.
  DiskNodePointer find(const Path& path) const;
  int create_node(const Path& path, DiskNodePointer& node);
  int write(DiskNode& node, std::uint64_t offset, std::span<const std::byte> bytes);
  int truncate(DiskNode& node, std::uint64_t size);
  int flush(DiskNode& node);

 private:
  friend class SimulatedFile;
  struct Edit {
    DiskNodePointer folder;
    std::string name;
    DiskNodePointer target;  // null: the name goes
  };
  using Edits = std::vector<Edit>;

  int begin_change();
  int no_room();
  void apply(Edits edits);
  int set_name(const Path& path, DiskNodePointer target);

  DiskNodePointer root_;
  std::vector<Edits> unflushed_;  // changes of names, in order
  std::uint64_t changes_ = 0;
  std::uint64_t faults_ = 0;
  std::uint64_t death_ = 0;  // 0: not planned
  std::uint64_t failure_ = 0;
  int error_ = 0;
  bool is_dead_ = false;
  bool is_full_ = false;
  bool is_database_full_ = false;
  std::unique_ptr<DatabaseFiles> database_files_;
};

}  // namespace ballast::simulate
