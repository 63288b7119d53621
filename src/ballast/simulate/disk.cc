#include "ballast/simulate/disk.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include "ballast/simulate/database_files.h"

namespace ballast::simulate {
namespace {

constexpr std::size_t kSector = 512;

Status as_status(const std::filesystem::path& path, int error) {
  if (error == 0) return {};
  const std::string text =
      fmt::format("{}: {}", path.string(), std::generic_category().message(error));
  return error == ENOENT ? Status(not_found(text)) : Status(io_error(text));
}

class NodeSource final : public files::ByteSource {
 public:
  explicit NodeSource(DiskNodePointer node) : node_(std::move(node)) {}
  std::size_t size() const noexcept override { return node_->bytes.size(); }
  Status read(std::size_t offset, std::span<std::byte> out) const override {
    return files::MemorySource(node_->bytes).read(offset, out);
  }

 private:
  DiskNodePointer node_;
};

class NoLock final : public store::FolderLock {};

template <typename Visit>
void visit_nodes(const DiskNodePointer& node, std::set<DiskNode*>& seen, const Visit& visit) {
  if (!seen.insert(node.get()).second) return;
  visit(*node);
  for (const auto& [name, child] : node->names) visit_nodes(child, seen, visit);
}

DiskNodePointer copy_tree(const DiskNodePointer& node,
                          std::map<const DiskNode*, DiskNodePointer>& copies) {
  DiskNodePointer& known = copies[node.get()];
  if (known) return known;
  auto copied = std::make_shared<DiskNode>();
  known = copied;
  copied->is_folder = node->is_folder;
  copied->bytes = copied->flushed = node->bytes;
  for (const auto& [name, child] : node->names) copied->names[name] = copy_tree(child, copies);
  copied->flushed_names = copied->names;
  return copied;
}

// Of each sector the old or the new; where the file grew or shrank, either size.
void tear(DiskNode& node, Rng& rng) {
  const std::size_t size = rng.below(2) == 0 ? node.bytes.size() : node.flushed.size();
  std::vector<std::byte> left(size);
  for (std::size_t at = 0; at < size; at += kSector) {
    const auto& from = rng.below(2) == 0 ? node.bytes : node.flushed;
    if (at >= from.size()) continue;
    std::memcpy(left.data() + at, from.data() + at,
                std::min({kSector, size - at, from.size() - at}));
  }
  node.bytes = std::move(left);
}

void settle(DiskNode& node, PowerLoss loss, Rng& rng) {
  if (!node.is_flushed && loss == PowerLoss::kTorn) tear(node, rng);
  node.flushed = node.bytes;
  node.is_flushed = true;
  if (loss == PowerLoss::kTorn) node.names = node.flushed_names;
  node.flushed_names = node.names;
}

}  // namespace

class SimulatedFile final : public store::NewFile {
 public:
  SimulatedFile(Disk& disk, std::filesystem::path path, DiskNodePointer node)
      : disk_(disk), path_(std::move(path)), node_(std::move(node)) {}

  Status append(std::span<const std::byte> bytes) override {
    const int error = disk_.is_full_ ? disk_.no_room() : disk_.write(*node_, written_, bytes);
    written_ += bytes.size();
    return as_status(path_, error);
  }

  Status finish() override { return as_status(path_, disk_.flush(*node_)); }

 private:
  Disk& disk_;
  std::filesystem::path path_;
  DiskNodePointer node_;
  std::uint64_t written_ = 0;
};

Disk::Disk() : root_(std::make_shared<DiskNode>()) {
  root_->is_folder = true;
  database_files_ = std::make_unique<DatabaseFiles>(*this);
}

Disk::~Disk() = default;

std::unique_ptr<Disk> Disk::copy() const {
  auto copied = std::make_unique<Disk>();
  std::map<const DiskNode*, DiskNodePointer> copies;
  copied->root_ = copy_tree(root_, copies);
  return copied;
}

void Disk::fail_at(std::uint64_t change, int error) {
  failure_ = changes_ + change;
  error_ = error;
}

void Disk::fill(bool also_the_database) {
  is_full_ = true;
  is_database_full_ = also_the_database;
}

void Disk::heal() {
  death_ = failure_ = 0;
  is_full_ = is_database_full_ = false;
}

const char* Disk::database_files() const noexcept { return database_files_->name(); }

// 0, or why this change does not happen.
int Disk::begin_change() {
  ++changes_;
  if (changes_ == death_) is_dead_ = true;
  const int error = is_dead_ ? EIO : changes_ == failure_ ? error_ : 0;
  if (error != 0) ++faults_;
  return error;
}

int Disk::no_room() {
  ++faults_;
  return ENOSPC;
}

void Disk::apply(Edits edits) {
  for (const Edit& edit : edits) {
    if (edit.target) {
      edit.folder->names[edit.name] = edit.target;
    } else {
      edit.folder->names.erase(edit.name);
    }
  }
  unflushed_.push_back(std::move(edits));
}

DiskNodePointer Disk::find(const Path& path) const {
  DiskNodePointer node = root_;
  const std::string text = path.string();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = text.find_first_not_of('/', at);
    if (start == std::string::npos) break;
    at = std::min(text.find('/', start), text.size());
    const auto found = node->names.find(text.substr(start, at - start));
    if (found == node->names.end()) return nullptr;
    node = found->second;
  }
  return node;
}

int Disk::set_name(const Path& path, DiskNodePointer target) {
  const DiskNodePointer folder = find(path.parent_path());
  if (!folder) return ENOENT;
  apply({{folder, path.filename().string(), std::move(target)}});
  return 0;
}

int Disk::create_node(const Path& path, DiskNodePointer& node) {
  if (const int error = begin_change()) return error;
  if (find(path)) return EEXIST;
  node = std::make_shared<DiskNode>();
  return set_name(path, node);
}

int Disk::write(DiskNode& node, std::uint64_t offset, std::span<const std::byte> bytes) {
  const bool was_dead = is_dead_;
  const int error = begin_change();
  // The machine dies while it writes: a part of it is done.
  if (error != 0 && is_dead_ && !was_dead) bytes = bytes.first(bytes.size() / 2);
  if (error != 0 && (was_dead || !is_dead_)) return error;
  if (is_database_full_ && offset + bytes.size() > node.bytes.size()) return no_room();
  node.is_flushed = false;
  if (node.bytes.size() < offset + bytes.size()) node.bytes.resize(offset + bytes.size());
  if (!bytes.empty()) std::memcpy(node.bytes.data() + offset, bytes.data(), bytes.size());
  return error;
}

int Disk::truncate(DiskNode& node, std::uint64_t size) {
  if (const int error = begin_change()) return error;
  node.bytes.resize(size);
  node.is_flushed = false;
  return 0;
}

int Disk::flush(DiskNode& node) {
  if (const int error = begin_change()) return error;
  if (!node.is_flushed) node.flushed = node.bytes;
  node.is_flushed = true;
  return 0;
}

Result<std::unique_ptr<store::NewFile>> Disk::create(const Path& path, std::uint64_t /*bytes*/) {
  DiskNodePointer node;
  if (is_full_) BALLAST_TRY_STATUS(as_status(path, no_room()));
  BALLAST_TRY_STATUS(as_status(path, create_node(path, node)));
  return std::make_unique<SimulatedFile>(*this, path, std::move(node));
}

Status Disk::make_folder(const Path& path) {
  DiskNodePointer node;
  if (is_full_) return as_status(path, no_room());
  BALLAST_TRY_STATUS(as_status(path, create_node(path, node)));
  node->is_folder = true;
  return {};
}

Status Disk::sync_folder(const Path& path) {
  if (const int error = begin_change()) return as_status(path, error);
  const DiskNodePointer folder = find(path);
  if (!folder) return as_status(path, ENOENT);
  std::erase_if(unflushed_, [&](const Edits& edits) {
    const bool is_here =
        std::ranges::any_of(edits, [&](const Edit& edit) { return edit.folder == folder; });
    if (!is_here) return false;
    for (const Edit& edit : edits) {
      if (edit.target) {
        edit.folder->flushed_names[edit.name] = edit.target;
      } else {
        edit.folder->flushed_names.erase(edit.name);
      }
    }
    return true;
  });
  return {};
}

Status Disk::rename(const Path& from, const Path& to) {
  if (const int error = begin_change()) return as_status(to, error);
  const DiskNodePointer node = find(from);
  const DiskNodePointer source = find(from.parent_path()), target = find(to.parent_path());
  if (!node || !source || !target) return as_status(to, ENOENT);
  apply({{source, from.filename().string(), nullptr}, {target, to.filename().string(), node}});
  return {};
}

Status Disk::link(const Path& from, const Path& to) {
  if (const int error = begin_change()) return as_status(to, error);
  const DiskNodePointer node = find(from);
  if (!node) return as_status(from, ENOENT);
  if (find(to)) return as_status(to, EEXIST);
  return as_status(to, set_name(to, node));
}

Status Disk::remove_tree(const Path& path) {
  const DiskNodePointer node = find(path);
  if (!node) return {};
  for (const auto& [name, child] : std::map(node->names)) {
    BALLAST_TRY_STATUS(remove_tree(path / name));
  }
  if (const int error = begin_change()) return as_status(path, error);
  return as_status(path, set_name(path, nullptr));
}

Result<std::unique_ptr<store::FolderLock>> Disk::lock(const Path& folder) {
  if (!find(folder)) BALLAST_TRY_STATUS(as_status(folder, ENOENT));
  return std::make_unique<NoLock>();
}

Result<std::unique_ptr<files::ByteSource>> Disk::open(const Path& path) const {
  DiskNodePointer node = find(path);
  if (!node || node->is_folder) return not_found("there is no such file");
  return std::make_unique<NodeSource>(std::move(node));
}

Result<std::vector<std::string>> Disk::list(const Path& folder) const {
  const DiskNodePointer node = find(folder);
  if (!node) return not_found(fmt::format("{}: no such folder", folder.string()));
  std::vector<std::string> names;
  for (const auto& [name, child] : node->names) names.push_back(name);
  return names;
}

void Disk::restart(PowerLoss loss, Rng& rng) {
  const std::size_t kept =
      loss == PowerLoss::kNone ? unflushed_.size() : rng.below(unflushed_.size() + 1);
  for (std::size_t i = 0; i < kept; ++i) {
    for (const Edit& edit : unflushed_[i]) {
      if (edit.target) {
        edit.folder->flushed_names[edit.name] = edit.target;
      } else {
        edit.folder->flushed_names.erase(edit.name);
      }
    }
  }
  unflushed_.clear();
  // Top down: what a folder lost is not looked at.
  const auto settle_tree = [&](const auto& self, const DiskNodePointer& node) -> void {
    settle(*node, loss, rng);
    for (const auto& [name, child] : node->names) self(self, child);
  };
  settle_tree(settle_tree, root_);
  is_dead_ = false;
  heal();
}

// NOLINTNEXTLINE(readability-make-member-function-const): what it changes is the disk
bool Disk::damage(const Path& folder, Rng& rng) {
  const DiskNodePointer node = find(folder);
  if (!node || node->names.empty()) return false;
  auto chosen = node->names.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(rng.below(node->names.size())));
  DiskNode& file = *chosen->second;
  if (file.is_folder || file.bytes.empty()) return false;
  const std::size_t at = rng.below(file.bytes.size());
  file.bytes[at] ^= std::byte{1};
  file.flushed = file.bytes;
  return true;
}

std::uint64_t Disk::bytes() const {
  std::uint64_t sum = 0;
  std::set<DiskNode*> seen;
  visit_nodes(root_, seen, [&](const DiskNode& node) { sum += node.bytes.size(); });
  return sum;
}

std::size_t Disk::file_count() const {
  std::set<DiskNode*> seen;
  visit_nodes(root_, seen, [](const DiskNode&) {});
  return seen.size();
}

}  // namespace ballast::simulate
