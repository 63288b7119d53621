#include "ballast/simulate/database_files.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/simulate/disk.h"

namespace ballast::simulate {
namespace {

constexpr int kPathMax = 512;
constexpr int kSectorBytes = 4096;

// What SQLite allocates for an open file: its own part first.
struct OpenFile {
  sqlite3_file base;
  Disk* disk;
  DiskNodePointer* node;
  std::string* path;
  std::vector<std::unique_ptr<char[]>>* shared;  // memory that connections share: there is one
  bool is_name_unflushed;                        // of a log: it is flushed with its bytes
};

OpenFile& of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

int code_of(int error, int code) {
  if (error == 0) return SQLITE_OK;
  return error == ENOSPC ? SQLITE_FULL : code;
}

int close_file(sqlite3_file* file) {
  OpenFile& open = of(file);
  delete open.node;
  delete open.path;
  delete open.shared;
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  const std::vector<std::byte>& bytes = (*of(file).node)->bytes;
  const auto at = static_cast<std::size_t>(offset), wanted = static_cast<std::size_t>(size);
  const std::size_t there = at < bytes.size() ? std::min(wanted, bytes.size() - at) : 0;
  if (there > 0) std::memcpy(out, bytes.data() + at, there);
  std::memset(static_cast<char*>(out) + there, 0, wanted - there);
  return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  OpenFile& open = of(file);
  const std::span bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
  return code_of(open.disk->write(**open.node, static_cast<std::uint64_t>(offset), bytes),
                 SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  OpenFile& open = of(file);
  return code_of(open.disk->truncate(**open.node, static_cast<std::uint64_t>(size)),
                 SQLITE_IOERR_TRUNCATE);
}

// As SQLite's own on Unix: with the first flush of a log its folder is flushed too, and whether
// that succeeds nobody asks.
int sync_file(sqlite3_file* file, int /*flags*/) {
  OpenFile& open = of(file);
  if (const int error = open.disk->flush(**open.node)) return code_of(error, SQLITE_IOERR_FSYNC);
  if (!open.is_name_unflushed) return SQLITE_OK;
  (void)open.disk->sync_folder(std::filesystem::path(*open.path).parent_path());
  open.is_name_unflushed = false;
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>((*of(file).node)->bytes.size());
  return SQLITE_OK;
}

int lock(sqlite3_file*, int) { return SQLITE_OK; }

int check_lock(sqlite3_file*, int* is_locked) {
  *is_locked = 0;
  return SQLITE_OK;
}

int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return kSectorBytes; }
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int map_shared(sqlite3_file* file, int region, int size, int is_to_extend, void volatile** out) {
  auto& shared = *of(file).shared;
  *out = nullptr;
  const auto index = static_cast<std::size_t>(region);
  if (index >= shared.size() && is_to_extend == 0) return SQLITE_OK;
  while (shared.size() <= index) {
    shared.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
  }
  *out = shared[index].get();
  return SQLITE_OK;
}

int lock_shared(sqlite3_file*, int, int, int) { return SQLITE_OK; }
void shared_barrier(sqlite3_file*) {}

int unmap_shared(sqlite3_file* file, int is_to_delete) {
  if (is_to_delete != 0) of(file).shared->clear();
  return SQLITE_OK;
}

constexpr sqlite3_io_methods kMethods = {2,
                                         close_file,
                                         read_file,
                                         write_file,
                                         truncate_file,
                                         sync_file,
                                         file_size,
                                         lock,
                                         lock,
                                         check_lock,
                                         control,
                                         sector_size,
                                         characteristics,
                                         map_shared,
                                         lock_shared,
                                         shared_barrier,
                                         unmap_shared,
                                         nullptr,
                                         nullptr};

Disk& disk_of(sqlite3_vfs* files) { return *static_cast<Disk*>(files->pAppData); }

int open_file(sqlite3_vfs* files, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  Disk& disk = disk_of(files);
  OpenFile& open = of(file);
  open.base.pMethods = nullptr;
  DiskNodePointer node = name != nullptr ? disk.find(name) : std::make_shared<DiskNode>();
  if (!node) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    if (const int error = disk.create_node(name, node)) return code_of(error, SQLITE_CANTOPEN);
  }
  constexpr int kLogs = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  open = {.base = {.pMethods = &kMethods},
          .disk = &disk,
          .node = new DiskNodePointer(std::move(node)),
          .path = new std::string(name != nullptr ? name : ""),
          .shared = new std::vector<std::unique_ptr<char[]>>,
          .is_name_unflushed = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & kLogs) != 0};
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* files, const char* name, int is_to_flush) {
  Disk& disk = disk_of(files);
  if (!disk.find(name)) return SQLITE_IOERR_DELETE_NOENT;
  if (!disk.remove_tree(name)) return SQLITE_IOERR_DELETE;
  if (is_to_flush == 0) return SQLITE_OK;
  return disk.sync_folder(std::filesystem::path(name).parent_path()) ? SQLITE_OK
                                                                     : SQLITE_IOERR_DIR_FSYNC;
}

int access_file(sqlite3_vfs* files, const char* name, int /*how*/, int* is_there) {
  *is_there = disk_of(files).find(name) != nullptr ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

int fill_random(sqlite3_vfs*, int size, char* out) {
  std::memset(out, 7, static_cast<std::size_t>(size));
  return size;
}

int sleep(sqlite3_vfs*, int microseconds) { return microseconds; }

int current_time(sqlite3_vfs*, double* days) {
  *days = 2'440'587.5;  // 1970 as a Julian day
  return SQLITE_OK;
}

int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

struct DatabaseFiles::Registered {
  sqlite3_vfs files{};
};

DatabaseFiles::DatabaseFiles(Disk& disk) : registered_(new Registered) {
  static std::atomic<std::uint64_t> count = 0;
  name_ = fmt::format("ballast-simulate-{}", ++count);
  registered_->files = {.iVersion = 1,
                        .szOsFile = static_cast<int>(sizeof(OpenFile)),
                        .mxPathname = kPathMax,
                        .pNext = nullptr,
                        .zName = name_.c_str(),
                        .pAppData = &disk,
                        .xOpen = open_file,
                        .xDelete = delete_file,
                        .xAccess = access_file,
                        .xFullPathname = full_path,
                        .xDlOpen = nullptr,
                        .xDlError = nullptr,
                        .xDlSym = nullptr,
                        .xDlClose = nullptr,
                        .xRandomness = fill_random,
                        .xSleep = sleep,
                        .xCurrentTime = current_time,
                        .xGetLastError = last_error,
                        .xCurrentTimeInt64 = nullptr,
                        .xSetSystemCall = nullptr,
                        .xGetSystemCall = nullptr,
                        .xNextSystemCall = nullptr};
  BALLAST_CHECK(sqlite3_vfs_register(&registered_->files, 0) == SQLITE_OK,
                "SQLite takes the files");
}

DatabaseFiles::~DatabaseFiles() {
  sqlite3_vfs_unregister(&registered_->files);
  delete registered_;
}

}  // namespace ballast::simulate
