#include "ballast/store/generation.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "ballast/store/failpoint.h"
#include "ballast/store/values_file.h"

namespace ballast::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNameStart = "gen-";
constexpr std::string_view kUnfinished = ".tmp";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kW = "w";
constexpr const char* kX = "x";
constexpr const char* kLastStatistics = "last-statistics";
constexpr std::string_view kStatistics = "statistics-";
constexpr std::string_view kMethod = "method-";

std::string file_name(std::string_view vector) { return fmt::format("{}.bin", vector); }

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

class Writer {
 public:
  // Vectors go into the folder and into the manifest. `source` may be null.
  Writer(FileSystem& disk, fs::path folder, Manifest& manifest, const Manifest* source,
         fs::path source_folder, SaveReport& report)
      : disk_(disk),
        folder_(std::move(folder)),
        manifest_(manifest),
        source_(source),
        source_folder_(std::move(source_folder)),
        report_(report) {}

  // Writes the vector, or links it to the generation `source_folder` if that has it already.
  // Nothing is written of an empty one.
  Status add(const server::NamedVectorView& vector) {
    if (vector.values.empty()) return {};
    if (link(enter(vector))) return {};
    return write(vector.values);
  }

  // Writes it in any case: for a vector that has no revision of its own.
  Status add_anew(const server::NamedVectorView& vector) {
    if (vector.values.empty()) return {};
    enter(vector);
    return write(vector.values);
  }

  Status write_manifest() {
    const std::string text = to_text(manifest_);
    BALLAST_TRY(const auto file, disk_.create(folder_ / kManifest, text.size()));
    BALLAST_TRY_STATUS(file->append(std::as_bytes(std::span(text))));
    ++report_.files_written;
    report_.bytes_written += text.size();
    return file->finish();
  }

 private:
  VectorEntry& enter(const server::NamedVectorView& vector) {
    return manifest_.vectors.emplace_back(VectorEntry{.name = vector.name,
                                                      .revision = vector.revision,
                                                      .value_count = vector.values.size(),
                                                      .file = {}});
  }

  // The values of the last entry.
  Status write(std::span<const float> values) {
    VectorEntry& entry = manifest_.vectors.back();
    BALLAST_TRY(entry.file, write_values(disk_, folder_ / file_name(entry.name), {values}));
    ++report_.files_written;
    report_.bytes_written += entry.file.bytes;
    return {};
  }

  // A file system without links, or a file with too many, is no reason to fail.
  bool link(VectorEntry& entry) {
    const VectorEntry* const known = source_ ? find_vector(*source_, entry.name) : nullptr;
    if (known == nullptr || known->revision != entry.revision ||
        known->value_count != entry.value_count) {
      return false;
    }
    const std::string name = file_name(entry.name);
    if (!disk_.link(source_folder_ / name, folder_ / name)) return false;
    entry.file = known->file;
    ++report_.files_linked;
    return true;
  }

  FileSystem& disk_;
  fs::path folder_;
  Manifest& manifest_;
  const Manifest* source_;
  fs::path source_folder_;
  SaveReport& report_;
};

Status write_vectors(Writer& writer, const server::ServerStateView& state) {
  BALLAST_TRY_STATUS(writer.add({kW, state.steps, state.w}));
  BALLAST_TRY_STATUS(writer.add({kX, state.steps, state.x}));
  (void)BALLAST_FAILPOINT("after-model");
  for (std::size_t i = 0; i < state.statistics.size(); ++i) {
    BALLAST_TRY_STATUS(writer.add(
        {fmt::format("{}{}", kStatistics, i), state.senders[i].sequence, state.statistics[i]}));
  }
  // A worker that goes changes these although no update has come.
  BALLAST_TRY_STATUS(
      writer.add_anew({kLastStatistics, state.accepted_count, state.last_statistics}));
  for (const server::NamedVectorView& vector : state.method_state.vectors) {
    BALLAST_TRY_STATUS(
        writer.add({fmt::format("{}{}", kMethod, vector.name), vector.revision, vector.values}));
  }
  (void)BALLAST_FAILPOINT("after-slots");
  return {};
}

Status write_files(FileSystem& disk, const fs::path& folder, Manifest& manifest,
                   const server::ServerStateView& state, const Manifest* source,
                   SaveReport& report) {
  const fs::path unfinished = unfinished_folder(folder, manifest.generation);
  BALLAST_TRY_STATUS(disk.make_folder(unfinished));
  manifest.senders = state.senders;
  manifest.method = state.method;
  manifest.numbers = state.method_state.numbers;
  manifest.vectors.clear();
  Writer writer(disk, unfinished, manifest, source,
                source != nullptr ? generation_folder(folder, source->generation) : fs::path(),
                report);
  BALLAST_TRY_STATUS(write_vectors(writer, state));
  BALLAST_TRY_STATUS(writer.write_manifest());
  BALLAST_TRY_STATUS(disk.sync_folder(unfinished));
  BALLAST_TRY_STATUS(disk.rename(unfinished, generation_folder(folder, manifest.generation)));
  return disk.sync_folder(folder);
}

Result<std::vector<float>> read_vector(const FileSystem& disk, const fs::path& folder,
                                       const VectorEntry& entry) {
  BALLAST_TRY(auto pieces,
              read_values(disk, folder / file_name(entry.name), entry.file, {entry.value_count}));
  return std::move(pieces[0]);
}

// The worker that a name such as "statistics-3" speaks of.
std::optional<std::size_t> statistics_owner(std::string_view name) {
  std::size_t worker = 0;
  name.remove_prefix(kStatistics.size());
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), worker);
  const bool is_number = failure == std::errc() && end == name.data() + name.size();
  return is_number ? std::optional(worker) : std::nullopt;
}

// Where the values of a vector belong in the state; null if no state has such a vector.
std::vector<float>* place_of(const VectorEntry& entry, server::ServerState& state) {
  const std::string_view name = entry.name;
  if (name == kW) return &state.optimizer.w;
  if (name == kX) return &state.optimizer.x;
  if (name == kLastStatistics) return &state.last_statistics;
  if (name.starts_with(kStatistics)) {
    const auto worker = statistics_owner(name);
    return worker && *worker < state.statistics.size() ? &state.statistics[*worker] : nullptr;
  }
  if (!name.starts_with(kMethod)) return nullptr;
  auto& vectors = state.method_state.vectors;
  vectors.push_back({std::string(name.substr(kMethod.size())), entry.revision, {}});
  return &vectors.back().values;
}

Result<std::string> read_text(const FileSystem& disk, const fs::path& path) {
  const auto naming = [&](const Error& error) {
    return tl::unexpected<Error>(Error{error.code, path.string() + ": " + error.message});
  };
  const auto source = disk.open(path);
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

Result<std::vector<std::uint64_t>> list_generations(const fs::path& folder,
                                                    const FileSystem& disk) {
  BALLAST_TRY(const auto names, disk.list(folder));
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = parse_number(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers, std::greater());
  return numbers;
}

Result<SaveReport> write_generation(FileSystem& disk, const fs::path& folder, Manifest& manifest,
                                    const server::ServerStateView& state, const Manifest* source) {
  SaveReport report = {.generation = manifest.generation};
  const Status status = write_files(disk, folder, manifest, state, source, report);
  if (status) return report;
  // Best effort: what cannot be removed now is removed with the next generation that succeeds.
  (void)disk.remove_tree(unfinished_folder(folder, manifest.generation));
  (void)remove_generation(disk, folder, manifest.generation);
  return tl::unexpected<Error>(Error{
      status.error().code, fmt::format("checkpoint {} is abandoned, the one before it stands: {}",
                                       manifest.generation, status.error().message)});
}

Result<Manifest> read_manifest(const fs::path& folder, std::uint64_t number,
                               const FileSystem& disk) {
  const fs::path path = generation_folder(folder, number) / kManifest;
  BALLAST_TRY(const std::string text, read_text(disk, path));
  auto manifest = parse_manifest(text);
  if (manifest && manifest->generation != number) {
    return io_error(
        fmt::format("{}: belongs to generation {}", path.string(), manifest->generation));
  }
  if (!manifest) manifest.error().message = path.string() + ": " + manifest.error().message;
  return manifest;
}

Result<server::ServerState> read_state(const fs::path& folder, const Manifest& manifest,
                                       const FileSystem& disk) {
  const fs::path own = generation_folder(folder, manifest.generation);
  server::ServerState state = {.accepted_count = manifest.accepted_count,
                               .unknown_count = manifest.unknown_count,
                               .optimizer = {.steps = manifest.steps, .w = {}, .x = {}},
                               .senders = manifest.senders,
                               .statistics = {manifest.senders.size(), std::vector<float>()},
                               .last_statistics = {},
                               .method = manifest.method,
                               .method_state = {.numbers = manifest.numbers, .vectors = {}}};
  for (const VectorEntry& entry : manifest.vectors) {
    std::vector<float>* const place = place_of(entry, state);
    if (place == nullptr) {
      return io_error(
          fmt::format("{}: holds a vector {}, which no server has", own.string(), entry.name));
    }
    BALLAST_TRY(*place, read_vector(disk, own, entry));
  }
  return state;
}

Status verify_generation(const fs::path& folder, const Manifest& manifest, const FileSystem& disk) {
  const fs::path own = generation_folder(folder, manifest.generation);
  for (const VectorEntry& entry : manifest.vectors) {
    BALLAST_TRY_STATUS(verify_file(disk, own / file_name(entry.name), entry.file));
  }
  return {};
}

Status remove_generation(FileSystem& disk, const fs::path& folder, std::uint64_t number) {
  const fs::path unfinished = unfinished_folder(folder, number);
  if (!disk.exists(generation_folder(folder, number))) return {};
  BALLAST_TRY_STATUS(disk.rename(generation_folder(folder, number), unfinished));
  return disk.remove_tree(unfinished);
}

Status remove_leftovers(FileSystem& disk, const fs::path& folder) {
  BALLAST_TRY(const auto names, disk.list(folder));
  for (const std::string& name : names) {
    if (!name.starts_with(kNameStart) || !name.ends_with(kUnfinished)) continue;
    BALLAST_TRY_STATUS(disk.remove_tree(folder / name));
  }
  return {};
}

}  // namespace ballast::store
