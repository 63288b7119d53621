#include "ballast/store/inspect.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/store/generation.h"

namespace ballast::store {
namespace {

std::uint64_t bytes_of(const Manifest& manifest) {
  std::uint64_t bytes = to_text(manifest).size();
  for (const VectorEntry& vector : manifest.vectors) bytes += vector.file.bytes;
  return bytes;
}

GenerationReport inspect_generation(const std::filesystem::path& folder, std::uint64_t number) {
  GenerationReport report = {.number = number, .manifest = std::nullopt, .bytes = 0, .damage = {}};
  auto manifest = read_manifest(folder, number);
  if (!manifest) {
    report.damage = std::move(manifest).error().message;
    return report;
  }
  report.bytes = bytes_of(*manifest);
  if (const Status status = verify_generation(folder, *manifest); !status) {
    report.damage = status.error().message;
  }
  report.manifest = std::move(*manifest);
  return report;
}

Status inspect_journal(const std::filesystem::path& folder, FolderReport& report) {
  BALLAST_TRY(const Journal journal, Journal::open_to_read(folder));
  BALLAST_TRY(report.journal_count, journal.record_count());
  BALLAST_TRY(report.incarnations, journal.incarnations());
  return {};
}

}  // namespace

Result<Manifest> read_newest_manifest(const std::filesystem::path& folder) {
  BALLAST_TRY(const auto numbers, list_generations(folder));
  for (const std::uint64_t number : numbers) {
    auto manifest = read_manifest(folder, number);
    if (manifest) return manifest;
  }
  return not_found(fmt::format("{}: holds no checkpoint that can be read", folder.string()));
}

Result<NewestState> read_newest(const std::filesystem::path& folder) {
  BALLAST_TRY(const auto numbers, list_generations(folder));
  if (numbers.empty()) {
    return not_found(
        fmt::format("{}: holds no checkpoint; name the folder of a run", folder.string()));
  }
  std::string damage;
  for (const std::uint64_t number : numbers) {
    const auto read = [&]() -> Result<NewestState> {
      BALLAST_TRY(Manifest manifest, read_manifest(folder, number));
      BALLAST_TRY(server::ServerState state, read_state(folder, manifest));
      return NewestState{std::move(manifest), std::move(state)};
    };
    auto newest = read();
    if (newest || newest.error().code == ErrorCode::kUnsupported) return newest;
    if (damage.empty()) damage = std::move(newest).error().message;
  }
  return io_error(
      fmt::format("{}: no checkpoint is intact; the newest: {}", folder.string(), damage));
}

Result<FolderReport> inspect(const std::filesystem::path& folder) {
  BALLAST_TRY(const auto numbers, list_generations(folder));
  if (numbers.empty()) {
    return not_found(
        fmt::format("{}: holds no checkpoint; name the folder of a run", folder.string()));
  }
  FolderReport report;
  for (const std::uint64_t number : numbers) {
    report.generations.push_back(inspect_generation(folder, number));
  }
  if (const Status status = inspect_journal(folder, report); !status) {
    report.journal_damage = status.error().message;
  }
  return report;
}

}  // namespace ballast::store
