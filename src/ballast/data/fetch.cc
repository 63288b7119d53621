#include "ballast/data/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "ballast/data/input_file.h"
#include "ballast/data/sha256.h"
#include "ballast/data/sources.h"
#include "ballast/data/temporary_folder.h"

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1 << 18;

// Copies the content of a file, never more than `file.bytes` of it, and checks it on the way.
Status copy_checked(const KnownFile& file, InputFile& input, std::ostream& output) {
  std::vector<std::uint8_t> piece(kPieceBytes);
  Sha256 digest;
  for (std::uint64_t left = file.bytes; left > 0; left -= piece.size()) {
    piece.resize(std::min<std::uint64_t>(left, kPieceBytes));
    BALLAST_TRY_STATUS(input.read_exactly(piece));
    digest.update(piece);
    output.write(reinterpret_cast<const char*>(piece.data()),
                 static_cast<std::streamsize>(piece.size()));
  }
  BALLAST_TRY_STATUS(input.expect_end());
  if (digest.finish() != file.sha256) {
    return invalid_argument(fmt::format("{} has another SHA-256 than the real one", file.name));
  }
  return {};
}

bool is_intact(const KnownFile& file, const fs::path& folder) {
  auto input = InputFile::open(folder / file.name);
  if (!input || input->content_bytes_max() != file.bytes) return false;
  std::ostream nowhere(nullptr);
  return copy_checked(file, *input, nowhere).has_value();
}

Result<InputFile> open_plain_or_gzip(const KnownFile& file, const fs::path& folder) {
  auto plain = InputFile::open(folder / file.name);
  return plain ? std::move(plain) : InputFile::open(folder / fmt::format("{}.gz", file.name));
}

// Brings one file from where a source left it to its place, if it is the right one.
Status install(const KnownFile& file, const fs::path& from, const fs::path& to) {
  BALLAST_TRY(InputFile input, open_plain_or_gzip(file, from));
  BALLAST_TRY(const TemporaryFolder scratch, TemporaryFolder::create(to));
  const fs::path copy = scratch.path() / file.name;
  std::ofstream output(copy, std::ios::binary);
  BALLAST_TRY_STATUS(copy_checked(file, input, output));
  output.close();
  if (!output) return io_error(fmt::format("{}: cannot be written", copy.string()));
  std::error_code failure;
  fs::rename(copy, to / file.name, failure);
  if (failure) {
    return io_error(
        fmt::format("{}: cannot be written: {}", (to / file.name).string(), failure.message()));
  }
  return {};
}

// The files that are not in the folder yet, after unpacking those that lie there compressed.
std::vector<KnownFile> missing_files(const KnownDataset& dataset, const fs::path& folder) {
  std::vector<KnownFile> missing;
  for (const KnownFile& file : dataset.files) {
    if (!is_intact(file, folder) && !install(file, folder, folder)) missing.push_back(file);
  }
  return missing;
}

Status fetch_from(const Source& source, std::span<const KnownFile> files, const fs::path& folder) {
  BALLAST_TRY(const TemporaryFolder scratch, TemporaryFolder::create(folder));
  BALLAST_TRY(const fs::path found, source.collect(scratch.path()));
  for (const KnownFile& file : files) BALLAST_TRY_STATUS(install(file, found, folder));
  return {};
}

// What to do when every source has failed, and why each did.
std::string advice(std::string_view dataset, std::span<const KnownFile> missing,
                   const fs::path& folder, std::span<const std::string> reasons) {
  std::vector<std::string_view> names;
  for (const KnownFile& file : missing) names.push_back(file.name);
  return fmt::format(
      "{} cannot be fetched: connect this machine to the network, or copy {} (plain or .gz) into "
      "{} "
      "and try again ({})",
      dataset, fmt::join(names, ", "), folder.string(), fmt::join(reasons, "; "));
}

}  // namespace

Result<FetchReport> fetch_dataset(const KnownDataset& dataset, const FetchOptions& options) {
  const fs::path folder = options.root / dataset.name;
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    return io_error(fmt::format("{}: cannot be created: {}", folder.string(), failure.message()));
  }
  const std::vector<KnownFile> missing = missing_files(dataset, folder);
  if (missing.empty()) return FetchReport{folder, "files that were already there"};
  std::vector<std::string> reasons;
  for (const Source& source : sources_of(dataset, options)) {
    options.on_progress(fmt::format("trying {}", source.name));
    const Status fetched = fetch_from(source, missing, folder);
    if (fetched) return FetchReport{folder, source.name};
    reasons.push_back(fmt::format("{}: {}", source.name, fetched.error().message));
  }
  return io_error(advice(dataset.name, missing, folder, reasons));
}

}  // namespace ballast::data
