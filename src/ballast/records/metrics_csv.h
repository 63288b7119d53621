#pragma once
// metrics.csv: one line per evaluation of every run, for spreadsheets and data frames.
//
// The columns of kMetricsHeader; then back_door, where a run has that attack, and, where it was
// asked for, those of kExplanationFields; then one for each key that varies among the runs, by its
// name.
//
// RFC 4180 with line feeds: a text with a comma, a quote or a line break stands in quotes. Numbers
// are written with the fewest digits that read back to the same value; what is not finite is nan,
// inf or -inf.

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

inline constexpr std::size_t kMetricsKeysMax = 256;  // columns of keys in a file that is read

// The columns behind those of the header.
struct MetricsColumns {
  bool has_back_door = false;
  bool has_why = false;
  std::vector<std::string> keys = {};

  bool operator==(const MetricsColumns&) const = default;
};

// What the records need: back_door and `why` if one of them has it, and the keys of the first.
MetricsColumns columns_of(std::span<const RunRecord> records);

struct MetricsRow {
  std::string run = {};
  std::uint64_t seed = 0;
  EvaluationRecord evaluation = {};
  std::vector<std::string> values = {};  // of the keys

  bool operator==(const MetricsRow&) const = default;
};

struct Metrics {
  MetricsColumns columns = {};
  std::vector<MetricsRow> rows = {};
};

// The first line, and one line of a row, each with its line feed. A back_door that is
// missing is nan, an explanation is so throughout, a value that is missing is empty.
std::string metrics_header(const MetricsColumns& columns);
std::string metrics_line(const MetricsRow& row, const MetricsColumns& columns = {});

// The whole file: the header and all evaluations in the order of the records.
std::string metrics_csv(std::span<const RunRecord> records);

// Replaces the file by the evaluations of the records, all of them or nothing.
Status write_metrics(const std::filesystem::path& path, std::span<const RunRecord> records);

// The rows of a file that may hold anything; errors name the line. A last line without its line
// feed is left out: the run that wrote it was interrupted.
Result<Metrics> parse_metrics(std::string_view text);
Result<Metrics> read_metrics(const std::filesystem::path& path);

// The file while runs are going on.
//
// Thread-safety: append may be called from any thread; lines never mix.
class MetricsWriter {
 public:
  // Starts the file anew with the runs that are done already.
  static Result<MetricsWriter> create(const std::filesystem::path& path, MetricsColumns columns,
                                      std::span<const RunRecord> done);

  // Adds a line and hands it to the operating system, so that it survives this process.
  Status append(const MetricsRow& row);

 private:
  MetricsWriter(std::filesystem::path path, MetricsColumns columns, std::ofstream file);

  std::filesystem::path path_;
  MetricsColumns columns_;
  std::ofstream file_;
  std::unique_ptr<std::mutex> mutex_;
};

}  // namespace ballast::records
