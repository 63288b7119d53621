// Any bytes are either refused in one line, or read as rows and runs that write and read back to
// the same text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/records/metrics_csv.h"
#include "ballast/records/run_file.h"

namespace {

using ballast::records::Metrics;
using ballast::records::MetricsRow;

std::string text_of(const Metrics& metrics) {
  std::string text = metrics_header(metrics.columns);
  for (const MetricsRow& row : metrics.rows) text += metrics_line(row, metrics.columns);
  return text;
}

void check_message(const ballast::Error& error) {
  BALLAST_CHECK(error.message.find('\n') == std::string::npos, "errors have one line");
}

void fuzz_metrics(std::string_view text) {
  const auto rows = ballast::records::parse_metrics(text);
  if (!rows) return check_message(rows.error());
  const auto again = ballast::records::parse_metrics(text_of(*rows));
  BALLAST_CHECK(again && text_of(*again) == text_of(*rows), "rows read back");
}

void fuzz_run(std::string_view text) {
  const auto record = ballast::records::parse_run(text);
  if (!record) return check_message(record.error());
  (void)file_stem(*record);
  const auto written = run_json(*record);
  if (!written) return check_message(written.error());
  const auto again = ballast::records::parse_run(*written);
  BALLAST_CHECK(again && run_json(*again).value() == *written, "a run reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz_metrics(text);
  fuzz_metrics(std::string(ballast::records::kMetricsHeader).append("\n").append(text));
  fuzz_run(text);
  return 0;
}
