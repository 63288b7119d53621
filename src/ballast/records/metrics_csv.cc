#include "ballast/records/metrics_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "ballast/files/error_text.h"
#include "ballast/files/text_file.h"

namespace ballast::records {
namespace {

constexpr std::size_t kFixedCount = 10;
constexpr std::string_view kBackDoorColumn = "back_door";  // columns of kMetricsHeader
constexpr std::size_t kFieldCountMax = kFixedCount + kExplanationFields.size() + kMetricsKeysMax;
constexpr std::size_t kFieldBytesMax = 1 << 16;
using Fields = std::vector<std::string>;

std::string quoted_where_needed(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

// The sign of a NaN differs from machine to machine and means nothing.
double without_nan_sign(double value) { return std::isnan(value) ? std::nan("") : value; }

// Takes records off the front of a text. Field ends and the end of the record are found by hand:
// between quotes, commas and line breaks are part of the name.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  std::size_t line() const noexcept { return line_; }
  bool is_at_end() const noexcept { return text_.empty(); }

  // The next record; nothing where the text ends within it.
  Result<std::optional<Fields>> next() {
    ++line_;
    Fields fields;
    while (fields.size() < kFieldCountMax) {
      BALLAST_TRY(const bool is_whole, take_field(fields.emplace_back()));
      if (!is_whole) return std::nullopt;
      if (take('\n') || (text_.starts_with("\r\n") && take('\r') && take('\n'))) return fields;
      if (text_.empty()) return std::nullopt;
      if (!take(',')) return wrong("has text behind a closing quote");
    }
    return wrong("has too many fields");
  }

  tl::unexpected<Error> wrong(std::string_view what) const {
    return invalid_argument(
        fmt::format("line {} {}; a line has the fields of the header", line_, what));
  }

 private:
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  // False where the text ends before the field does.
  Result<bool> take_field(std::string& field) {
    if (take('"')) return take_quoted(field);
    const std::size_t end = text_.find_first_of(",\"\r\n");
    if (end == std::string_view::npos) return false;
    if (text_[end] == '"') return wrong("has a quote inside a field that does not start with one");
    field = text_.substr(0, end);
    text_.remove_prefix(end);
    return true;
  }

  Result<bool> take_quoted(std::string& field) {
    while (!text_.empty()) {
      if (take('"') && !text_.starts_with('"')) return true;
      if (text_.empty()) return false;
      if (text_.front() == '\n') ++line_;
      field += text_.front();
      text_.remove_prefix(1);
      if (field.size() > kFieldBytesMax) return wrong("has a field that is too long");
    }
    return false;
  }

  std::string_view text_;
  std::size_t line_ = 0;
};

template <typename T>
bool parse_number(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

Result<MetricsRow> to_row(Fields fields, const MetricsColumns& columns, const CsvReader& reader) {
  const std::size_t first = kFixedCount + (columns.has_back_door ? 1 : 0);
  const std::size_t why_count = columns.has_why ? kExplanationFields.size() : 0;
  if (fields.size() != first + why_count + columns.keys.size()) {
    return reader.wrong(fmt::format("has {} fields", fields.size()));
  }
  MetricsRow row;
  EvaluationRecord& e = row.evaluation;
  const std::array is_number = {true,
                                parse_number(fields[1], row.seed),
                                parse_number(fields[2], e.t),
                                parse_number(fields[3], e.test_accuracy),
                                parse_number(fields[4], e.test_loss),
                                parse_number(fields[5], e.train_loss),
                                parse_number(fields[6], e.byzantine_updates),
                                parse_number(fields[7], e.staleness_mean),
                                parse_number(fields[8], e.staleness_max),
                                parse_number(fields[9], e.seconds)};
  for (std::size_t i = 0; i < kFixedCount; ++i) {
    if (!is_number[i]) return reader.wrong(fmt::format("has no number in field {}", i + 1));
  }
  if (columns.has_back_door && !parse_number(fields[kFixedCount], e.back_door.emplace())) {
    return reader.wrong(fmt::format("has no number in field {}", kFixedCount + 1));
  }
  if (e.back_door && std::isnan(*e.back_door)) e.back_door.reset();
  if (columns.has_why) e.why.emplace();
  for (std::size_t i = 0; i < why_count; ++i) {
    double& value = (*e.why).*(kExplanationFields[i].member);
    if (parse_number(fields[first + i], value)) continue;
    return reader.wrong(fmt::format("has no number in field {}", first + i + 1));
  }
  const auto values = fields.begin() + static_cast<std::ptrdiff_t>(first + why_count);
  row.values.assign(std::make_move_iterator(values), std::make_move_iterator(fields.end()));
  row.run = std::move(fields[0]);
  return row;
}

// The columns that a header announces behind the fixed ones; nothing if it is none.
std::optional<MetricsColumns> read_header(const Fields& fields) {
  const Fields fixed(fields.begin(), fields.begin() + std::min(fields.size(), kFixedCount));
  if (fmt::format("{}", fmt::join(fixed, ",")) != kMetricsHeader) return std::nullopt;
  std::size_t next = kFixedCount;
  MetricsColumns columns;
  columns.has_back_door = next < fields.size() && fields[next] == kBackDoorColumn;
  if (columns.has_back_door) ++next;
  columns.has_why = next < fields.size() && fields[next] == kExplanationFields[0].name;
  for (const ExplanationField& field : kExplanationFields) {
    if (!columns.has_why) break;
    if (next == fields.size() || fields[next++] != field.name) return std::nullopt;
  }
  columns.keys.assign(fields.begin() + static_cast<std::ptrdiff_t>(next), fields.end());
  if (columns.keys.size() > kMetricsKeysMax) return std::nullopt;
  return columns;
}

// The keys of a specification have their own names, and one is that of a column already.
std::string key_column(const std::string& key) {
  const bool is_taken =
      fmt::format(",{},", kMetricsHeader).find(fmt::format(",{},", key)) != std::string::npos;
  return is_taken ? "key_" + key : key;
}

MetricsRow row_of(const RunRecord& record, const EvaluationRecord& evaluation) {
  MetricsRow row{.run = record.run, .seed = record.seed, .evaluation = evaluation};
  for (const auto& [key, value] : record.settings) row.values.push_back(value);
  return row;
}

std::string csv_text(std::span<const RunRecord> records, const MetricsColumns& columns) {
  std::string text = metrics_header(columns);
  for (const RunRecord& record : records) {
    for (const EvaluationRecord& evaluation : record.evaluations) {
      text += metrics_line(row_of(record, evaluation), columns);
    }
  }
  return text;
}

}  // namespace

MetricsColumns columns_of(std::span<const RunRecord> records) {
  MetricsColumns columns;
  for (const RunRecord& record : records) {
    for (const EvaluationRecord& evaluation : record.evaluations) {
      columns.has_why = columns.has_why || evaluation.why.has_value();
      columns.has_back_door = columns.has_back_door || evaluation.back_door.has_value();
    }
  }
  if (!records.empty()) {
    for (const auto& [key, value] : records.front().settings) columns.keys.push_back(key);
  }
  return columns;
}

std::string metrics_header(const MetricsColumns& columns) {
  std::string line(kMetricsHeader);
  if (columns.has_back_door) line += fmt::format(",{}", kBackDoorColumn);
  for (const ExplanationField& field : kExplanationFields) {
    if (columns.has_why) line += fmt::format(",{}", field.name);
  }
  for (const std::string& key : columns.keys)
    line += fmt::format(",{}", quoted_where_needed(key_column(key)));
  return line + "\n";
}

std::string metrics_line(const MetricsRow& row, const MetricsColumns& columns) {
  const EvaluationRecord& e = row.evaluation;
  std::string line =
      fmt::format("{},{},{},{},{},{},{},{},{},{}", quoted_where_needed(row.run), row.seed, e.t,
                  without_nan_sign(e.test_accuracy), without_nan_sign(e.test_loss),
                  without_nan_sign(e.train_loss), e.byzantine_updates,
                  without_nan_sign(e.staleness_mean), e.staleness_max, without_nan_sign(e.seconds));
  if (columns.has_back_door) {
    line += fmt::format(",{}", without_nan_sign(e.back_door.value_or(std::nan(""))));
  }
  for (const ExplanationField& field : kExplanationFields) {
    if (!columns.has_why) break;
    const double value = e.why ? (*e.why).*(field.member) : std::nan("");
    line += fmt::format(",{}", without_nan_sign(value));
  }
  for (std::size_t i = 0; i < columns.keys.size(); ++i) {
    line += ",";
    if (i < row.values.size()) line += quoted_where_needed(row.values[i]);
  }
  return line + "\n";
}

std::string metrics_csv(std::span<const RunRecord> records) {
  return csv_text(records, columns_of(records));
}

Status write_metrics(const std::filesystem::path& path, std::span<const RunRecord> records) {
  return files::write_text(path, metrics_csv(records));
}

Result<Metrics> parse_metrics(std::string_view text) {
  CsvReader reader(text);
  BALLAST_TRY(const auto header, reader.next());
  const auto columns = header ? read_header(*header) : std::nullopt;
  if (!columns) {
    return invalid_argument(fmt::format(
        "is not a file of metrics; its first line should begin with '{}'", kMetricsHeader));
  }
  Metrics metrics{.columns = *columns};
  while (!reader.is_at_end()) {
    BALLAST_TRY(auto fields, reader.next());
    if (!fields) break;
    BALLAST_TRY(MetricsRow row, to_row(std::move(*fields), *columns, reader));
    metrics.rows.push_back(std::move(row));
  }
  return metrics;
}

Result<Metrics> read_metrics(const std::filesystem::path& path) {
  BALLAST_TRY(const std::string text, files::read_text(path, kMetricsBytesMax));
  return files::naming(path, parse_metrics(text));
}

MetricsWriter::MetricsWriter(std::filesystem::path path, MetricsColumns columns, std::ofstream file)
    : path_(std::move(path)),
      columns_(std::move(columns)),
      file_(std::move(file)),
      mutex_(std::make_unique<std::mutex>()) {}

Result<MetricsWriter> MetricsWriter::create(const std::filesystem::path& path,
                                            MetricsColumns columns,
                                            std::span<const RunRecord> done) {
  BALLAST_TRY_STATUS(files::write_text(path, csv_text(done, columns)));
  std::ofstream file(path, std::ios::binary | std::ios::app);
  if (!file) return io_error(fmt::format("{}: cannot open it for appending", path.string()));
  return MetricsWriter(path, std::move(columns), std::move(file));
}

Status MetricsWriter::append(const MetricsRow& row) {
  const std::string line = metrics_line(row, columns_);
  const std::lock_guard lock(*mutex_);
  if (!(file_ << line << std::flush)) {
    return io_error(
        fmt::format("{}: cannot write; make room on its disk and run again", path_.string()));
  }
  return {};
}

}  // namespace ballast::records
