#include "ballast/simulate/mutant_disks.h"

#include <utility>

namespace ballast::simulate {
namespace {

class UnflushedFile final : public store::NewFile {
 public:
  explicit UnflushedFile(std::unique_ptr<store::NewFile> file) : file_(std::move(file)) {}
  Status append(std::span<const std::byte> bytes) override { return file_->append(bytes); }
  Status finish() override { return {}; }

 private:
  std::unique_ptr<store::NewFile> file_;
};

class WrappedDisk : public store::FileSystem {
 public:
  explicit WrappedDisk(store::FileSystem& disk) : disk_(disk) {}

  Result<std::unique_ptr<store::NewFile>> create(const Path& path, std::uint64_t bytes) override {
    return disk_.create(path, bytes);
  }
  Status make_folder(const Path& path) override { return disk_.make_folder(path); }
  Status sync_folder(const Path& path) override { return disk_.sync_folder(path); }
  Status rename(const Path& from, const Path& to) override { return disk_.rename(from, to); }
  Status link(const Path& from, const Path& to) override { return disk_.link(from, to); }
  Status remove_tree(const Path& path) override { return disk_.remove_tree(path); }
  Result<std::unique_ptr<store::FolderLock>> lock(const Path& folder) override {
    return disk_.lock(folder);
  }
  Result<std::unique_ptr<files::ByteSource>> open(const Path& path) const override {
    return disk_.open(path);
  }
  bool exists(const Path& path) const override { return disk_.exists(path); }
  Result<std::vector<std::string>> list(const Path& folder) const override {
    return disk_.list(folder);
  }
  const char* database_files() const noexcept override { return disk_.database_files(); }

 private:
  store::FileSystem& disk_;
};

class NoFlush final : public WrappedDisk {
 public:
  using WrappedDisk::WrappedDisk;
  Result<std::unique_ptr<store::NewFile>> create(const Path& path, std::uint64_t bytes) override {
    BALLAST_TRY(auto file, WrappedDisk::create(path, bytes));
    return std::make_unique<UnflushedFile>(std::move(file));
  }
};

class NoFolderFlush final : public WrappedDisk {
 public:
  using WrappedDisk::WrappedDisk;
  Status sync_folder(const Path& /*path*/) override { return {}; }
};

}  // namespace

std::unique_ptr<store::FileSystem> without_flush(store::FileSystem& disk) {
  return std::make_unique<NoFlush>(disk);
}

std::unique_ptr<store::FileSystem> without_folder_flush(store::FileSystem& disk) {
  return std::make_unique<NoFolderFlush>(disk);
}

}  // namespace ballast::simulate
