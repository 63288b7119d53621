#include "ballast/store/generation.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "ballast/files/file_io.h"
#include "ballast/store/disk.h"
#include "ballast/store/failpoint.h"
#include "ballast/store/values_file.h"

namespace ballast::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNameStart = "gen-";
constexpr std::string_view kUnfinished = ".tmp";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kW = "w.bin";
constexpr const char* kX = "x.bin";
constexpr const char* kCentre = "centre.bin";

std::string slot_name(std::size_t worker) { return fmt::format("worker-{}.bin", worker); }

fs::path unfinished_folder(const fs::path& folder, std::uint64_t number) {
  return folder / fmt::format("{}{}{}", kNameStart, number, kUnfinished);
}

std::optional<std::uint64_t> parse_number(std::string_view name) {
  if (!name.starts_with(kNameStart)) return std::nullopt;
  name.remove_prefix(kNameStart.size());
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = failure == std::errc() && end == name.data() + name.size();
  return is_number && number > 0 && number < INT64_MAX ? std::optional(number) : std::nullopt;
}

// Calls visit(name) for each entry of the folder.
Status for_each_name(const fs::path& folder,
                     const std::function<Status(const std::string&)>& visit) {
  std::error_code reason;
  fs::directory_iterator entry(folder, reason);
  for (; !reason && entry != fs::directory_iterator(); entry.increment(reason)) {
    BALLAST_TRY_STATUS(visit(entry->path().filename().string()));
  }
  if (!reason) return {};
  const std::string message = fmt::format("{}: {}", folder.string(), reason.message());
  return reason == std::errc::no_such_file_or_directory ? Status(not_found(message))
                                                        : Status(io_error(message));
}

class Writer {
 public:
  Writer(fs::path folder, SaveReport& report) : folder_(std::move(folder)), report_(report) {}

  Result<FileFacts> write(const std::string& name,
                          std::initializer_list<std::span<const float>> pieces) {
    BALLAST_TRY(FileFacts facts, write_values(folder_ / name, pieces));
    ++report_.files_written;
    report_.bytes_written += facts.bytes;
    return facts;
  }

  Result<std::optional<FileFacts>> write_unless_empty(const std::string& name,
                                                      std::span<const float> values) {
    if (values.empty()) return std::optional<FileFacts>();
    BALLAST_TRY(FileFacts facts, write(name, {values}));
    return std::optional(std::move(facts));
  }

  // A file system without links, or a file with too many, is no reason to fail.
  bool link(const fs::path& from, const std::string& name) {
    if (!link_file(from, folder_ / name)) return false;
    ++report_.files_linked;
    return true;
  }

  Status write_manifest(const Manifest& manifest) {
    const std::string text = to_text(manifest);
    BALLAST_TRY(NewFile file, NewFile::create(folder_ / kManifest, text.size()));
    BALLAST_TRY_STATUS(file.append(std::as_bytes(std::span(text))));
    ++report_.files_written;
    report_.bytes_written += text.size();
    return file.finish();
  }

 private:
  fs::path folder_;
  SaveReport& report_;
};

// A row changes only when an update is accepted, and that raises the count and the sequence number.
bool is_unchanged(const WorkerEntry& before, const server::WorkerStateView& now) {
  return before.slot.has_value() && before.record.count == now.record.count &&
         before.record.sequence == now.record.sequence;
}

Status write_slots(Writer& writer, const fs::path& folder, Manifest& manifest,
                   const server::ServerStateView& state, const Manifest* source) {
  manifest.workers.clear();
  for (std::size_t i = 0; i < state.workers.size(); ++i) {
    const server::WorkerStateView& worker = state.workers[i];
    WorkerEntry& entry = manifest.workers.emplace_back();
    entry.record = worker.record;
    if (worker.row.empty()) continue;
    const std::string name = slot_name(i);
    if (source != nullptr && is_unchanged(source->workers[i], worker) &&
        writer.link(generation_folder(folder, source->generation) / name, name)) {
      entry.slot = source->workers[i].slot;
    } else {
      BALLAST_TRY(entry.slot, writer.write(name, {worker.row, worker.statistics}));
    }
  }
  return {};
}

Status write_files(const fs::path& folder, Manifest& manifest, const server::ServerStateView& state,
                   const Manifest* source, SaveReport& report) {
  const fs::path unfinished = unfinished_folder(folder, manifest.generation);
  BALLAST_TRY_STATUS(make_folder(unfinished));
  Writer writer(unfinished, report);
  BALLAST_TRY(manifest.w, writer.write(kW, {state.w}));
  BALLAST_TRY(manifest.x, writer.write_unless_empty(kX, state.x));
  BALLAST_TRY(manifest.centre, writer.write_unless_empty(kCentre, state.centre));
  (void)BALLAST_FAILPOINT("after-model");
  BALLAST_TRY_STATUS(write_slots(writer, folder, manifest, state, source));
  (void)BALLAST_FAILPOINT("after-slots");
  BALLAST_TRY_STATUS(writer.write_manifest(manifest));
  BALLAST_TRY_STATUS(sync_folder(unfinished));
  BALLAST_TRY_STATUS(rename_path(unfinished, generation_folder(folder, manifest.generation)));
  return sync_folder(folder);
}

// Calls visit(name, facts) for each file with values.
template <typename Visit>
Status for_each_file(const Manifest& manifest, Visit&& visit) {
  BALLAST_TRY_STATUS(visit(kW, manifest.w));
  if (manifest.x) BALLAST_TRY_STATUS(visit(kX, *manifest.x));
  if (manifest.centre) BALLAST_TRY_STATUS(visit(kCentre, *manifest.centre));
  for (std::size_t i = 0; i < manifest.workers.size(); ++i) {
    if (!manifest.workers[i].slot) continue;
    BALLAST_TRY_STATUS(visit(slot_name(i), *manifest.workers[i].slot));
  }
  return {};
}

Result<std::vector<float>> read_vector(const fs::path& path, const FileFacts& facts,
                                       std::uint64_t count) {
  BALLAST_TRY(auto pieces, read_values(path, facts, {count}));
  return std::move(pieces[0]);
}

Result<std::string> read_text(const fs::path& path) {
  const auto naming = [&](const Error& error) {
    return tl::unexpected<Error>(Error{error.code, path.string() + ": " + error.message});
  };
  const auto source = files::open_file(path);
  if (!source) return naming(source.error());
  if ((*source)->size() > kManifestBytesMax) {
    return io_error(fmt::format("{}: is too large for a manifest", path.string()));
  }
  std::string text((*source)->size(), '\0');
  if (const Status status = (*source)->read(0, std::as_writable_bytes(std::span(text))); !status) {
    return naming(status.error());
  }
  return text;
}

}  // namespace

fs::path generation_folder(const fs::path& folder, std::uint64_t number) {
  return folder / fmt::format("{}{}", kNameStart, number);
}

Result<std::vector<std::uint64_t>> list_generations(const fs::path& folder) {
  std::vector<std::uint64_t> numbers;
  BALLAST_TRY_STATUS(for_each_name(folder, [&](const std::string& name) -> Status {
    if (const auto number = parse_number(name)) numbers.push_back(*number);
    return {};
  }));
  std::ranges::sort(numbers, std::greater());
  return numbers;
}

Result<SaveReport> write_generation(const fs::path& folder, Manifest& manifest,
                                    const server::ServerStateView& state, const Manifest* source) {
  SaveReport report = {.generation = manifest.generation};
  const Status status = write_files(folder, manifest, state, source, report);
  if (status) return report;
  // Best effort: what cannot be removed now is removed with the next generation that succeeds.
  (void)remove_tree(unfinished_folder(folder, manifest.generation));
  (void)remove_generation(folder, manifest.generation);
  return tl::unexpected<Error>(Error{
      status.error().code, fmt::format("checkpoint {} is abandoned, the one before it stands: {}",
                                       manifest.generation, status.error().message)});
}

Result<Manifest> read_manifest(const fs::path& folder, std::uint64_t number) {
  const fs::path path = generation_folder(folder, number) / kManifest;
  BALLAST_TRY(const std::string text, read_text(path));
  auto manifest = parse_manifest(text);
  if (manifest && manifest->generation != number) {
    return io_error(
        fmt::format("{}: belongs to generation {}", path.string(), manifest->generation));
  }
  if (!manifest) manifest.error().message = path.string() + ": " + manifest.error().message;
  return manifest;
}

Result<server::ServerState> read_state(const fs::path& folder, const Manifest& manifest) {
  const fs::path own = generation_folder(folder, manifest.generation);
  const RunShape& shape = manifest.shape;
  server::ServerState state = {.accepted_count = manifest.accepted_count,
                               .unknown_count = manifest.unknown_count,
                               .optimizer = {.steps = manifest.steps, .w = {}, .x = {}},
                               .centre = {},
                               .workers = {}};
  BALLAST_TRY(state.optimizer.w, read_vector(own / kW, manifest.w, shape.dim));
  if (manifest.x) {
    BALLAST_TRY(state.optimizer.x, read_vector(own / kX, *manifest.x, shape.dim));
  }
  if (manifest.centre) {
    BALLAST_TRY(state.centre, read_vector(own / kCentre, *manifest.centre, shape.dim));
  }
  for (std::size_t i = 0; i < manifest.workers.size(); ++i) {
    const WorkerEntry& entry = manifest.workers[i];
    server::WorkerState& worker = state.workers.emplace_back();
    worker.record = entry.record;
    if (!entry.slot) continue;
    BALLAST_TRY(auto pieces,
                read_values(own / slot_name(i), *entry.slot, {shape.dim, shape.statistic_count}));
    worker.row = std::move(pieces[0]);
    worker.statistics = std::move(pieces[1]);
  }
  return state;
}

Status verify_generation(const fs::path& folder, const Manifest& manifest) {
  const fs::path own = generation_folder(folder, manifest.generation);
  return for_each_file(manifest, [&](const std::string& name, const FileFacts& facts) {
    return verify_file(own / name, facts);
  });
}

Status remove_generation(const fs::path& folder, std::uint64_t number) {
  const fs::path unfinished = unfinished_folder(folder, number);
  std::error_code reason;
  if (!fs::exists(generation_folder(folder, number), reason)) return {};
  BALLAST_TRY_STATUS(rename_path(generation_folder(folder, number), unfinished));
  return remove_tree(unfinished);
}

Status remove_leftovers(const fs::path& folder) {
  std::vector<std::string> names;
  BALLAST_TRY_STATUS(for_each_name(folder, [&](const std::string& name) -> Status {
    if (name.starts_with(kNameStart) && name.ends_with(kUnfinished)) names.push_back(name);
    return {};
  }));
  for (const std::string& name : names) BALLAST_TRY_STATUS(remove_tree(folder / name));
  return {};
}

}  // namespace ballast::store
