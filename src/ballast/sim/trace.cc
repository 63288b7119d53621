#include "ballast/sim/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "ballast/files/file_io.h"

namespace ballast::sim {
namespace {

Result<std::uint32_t> parse_worker(std::string_view line, std::size_t worker_count) {
  std::uint32_t worker = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), worker);
  // The line itself is not shown: it may be long, or steer a terminal.
  if (error == std::errc::invalid_argument || end != line.data() + line.size()) {
    return invalid_argument("not a worker number; write one such number per line");
  }
  if (error == std::errc::result_out_of_range || worker >= worker_count) {
    return invalid_argument(fmt::format("no such worker; they are 0 to {}", worker_count - 1));
  }
  return worker;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<std::vector<std::uint32_t>> read(const std::filesystem::path& path,
                                        std::size_t worker_count) {
  BALLAST_TRY(const auto file, files::open_file(path));
  if (file->size() > kTraceBytesMax) {
    return invalid_argument(fmt::format("{} bytes are too many for a trace; at most {} are read",
                                        file->size(), kTraceBytesMax));
  }
  AlignedVector<char> text;
  BALLAST_TRY_STATUS(files::try_resize(text, file->size()));
  BALLAST_TRY_STATUS(file->read(0, std::as_writable_bytes(std::span(text))));
  return parse_trace({text.data(), text.size()}, worker_count);
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_trace(std::string_view text, std::size_t worker_count) {
  if (worker_count == 0) return invalid_argument("a trace needs at least one worker");
  if (text.empty()) return invalid_argument("the trace is empty; write one worker number per line");
  std::vector<std::uint32_t> workers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto worker = parse_worker(without_return(text.substr(0, end)), worker_count);
    if (!worker) {
      worker.error().message =
          fmt::format("line {}: {}", workers.size() + 1, worker.error().message);
      return tl::unexpected(std::move(worker).error());
    }
    workers.push_back(*worker);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return workers;
}

Result<std::vector<std::uint32_t>> read_trace(const std::filesystem::path& path,
                                              std::size_t worker_count) {
  auto workers = read(path, worker_count);
  if (!workers) workers.error().message = path.string() + ": " + workers.error().message;
  return workers;
}

}  // namespace ballast::sim
