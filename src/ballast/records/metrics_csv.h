#pragma once
// metrics.csv: one line per evaluation of every run, for spreadsheets and data frames.
//
// RFC 4180 with line feeds: a run name with a comma, a quote or a line break stands in quotes.
// Numbers are written with the fewest digits that read back to the same value; what is not finite
// is nan, inf or -inf.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/records/records.h"

namespace ballast::records {

inline constexpr std::string_view kMetricsHeader =
    "run,seed,t,test_accuracy,test_loss,train_loss,byzantine_updates,staleness_mean,"
    "staleness_max,seconds";
inline constexpr std::size_t kMetricsBytesMax = std::size_t{1} << 28;  // of a file that is read

struct MetricsRow {
  std::string run = {};
  std::uint64_t seed = 0;
  EvaluationRecord evaluation = {};

  bool operator==(const MetricsRow&) const = default;
};

// One line with its line feed.
std::string metrics_line(const MetricsRow& row);

// The whole file: the header and all evaluations in the order of the records.
std::string metrics_csv(std::span<const RunRecord> records);

// Replaces the file by the evaluations of the records, all of them or nothing.
Status write_metrics(const std::filesystem::path& path, std::span<const RunRecord> records);

// The rows of a file that may hold anything; errors name the line. A last line without its line
// feed is left out: the run that wrote it was interrupted.
Result<std::vector<MetricsRow>> parse_metrics(std::string_view text);
Result<std::vector<MetricsRow>> read_metrics(const std::filesystem::path& path);

// The file while runs are going on.
//
// Thread-safety: append may be called from any thread; lines never mix.
class MetricsWriter {
 public:
  // Starts the file anew with the runs that are done already.
  static Result<MetricsWriter> create(const std::filesystem::path& path,
                                      std::span<const RunRecord> done);

  // Adds a line and hands it to the operating system, so that it survives this process.
  Status append(const MetricsRow& row);

 private:
  MetricsWriter(std::filesystem::path path, std::ofstream file);

  std::filesystem::path path_;
  std::ofstream file_;
  std::unique_ptr<std::mutex> mutex_;
};

}  // namespace ballast::records
