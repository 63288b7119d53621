#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ballast/records/display_text.h"
#include "ballast/records/summary.h"

namespace ballast::records {
namespace {

constexpr std::size_t kColumns = 6;
using Cells = std::array<std::string, kColumns>;

constexpr std::string_view kPlusMinus = "\xC2\xB1";

const Cells& column_names() {
  static const Cells names = {"", "accuracy %", "best %", "updates", "updates/s", "seeds"};
  return names;
}

// Means stand below each other also where only some curves have several seeds, and so a deviation.
std::string accuracy_cell(const CurveSummary& summary, bool has_deviations) {
  const Spread& accuracy = summary.final_accuracy;
  if (!has_deviations) return fmt::format("{:.2f}", 100.0 * accuracy.mean);
  if (summary.seeds.size() == 1) return fmt::format("{:.2f}       ", 100.0 * accuracy.mean);
  return fmt::format("{:.2f} {}{:5.2f}", 100.0 * accuracy.mean, kPlusMinus,
                     100.0 * accuracy.deviation);
}

std::string seeds_cell(const CurveSummary& summary) {
  std::string cell = fmt::format("{}", summary.seeds.size());
  if (summary.diverged > 0) cell += fmt::format(", {} diverged", summary.diverged);
  if (summary.interrupted > 0) cell += fmt::format(", {} interrupted", summary.interrupted);
  return cell;
}

Cells cells_of(const CurveSummary& summary, bool has_deviations) {
  return {printable(summary.curve),
          accuracy_cell(summary, has_deviations),
          fmt::format("{:.2f}", 100.0 * summary.best_accuracy),
          fmt::format("{}", summary.t),
          fmt::format("{:.0f}", summary.updates_per_second),
          seeds_cell(summary)};
}

// The first and the last column are text and start on the left, the numbers end on the right.
std::string line_of(const Cells& cells, const std::array<std::size_t, kColumns>& widths) {
  std::string line = "  " + pad_right(cells[0], widths[0]);
  for (std::size_t i = 1; i + 1 < kColumns; ++i) line += "  " + pad_left(cells[i], widths[i]);
  return line + "  " + cells.back() + "\n";
}

}  // namespace

std::string result_table(std::span<const RunRecord> records) {
  const std::vector<CurveSummary> summaries = summarise(records);
  std::vector<Cells> rows;
  rows.reserve(summaries.size());
  const bool has_deviations =
      std::ranges::any_of(summaries, [](const auto& summary) { return summary.seeds.size() > 1; });
  for (const CurveSummary& summary : summaries) {
    rows.push_back(cells_of(summary, has_deviations));
  }
  std::array<std::size_t, kColumns> widths;
  for (std::size_t i = 0; i < kColumns; ++i) {
    widths[i] = display_width(column_names()[i]);
    for (const Cells& row : rows) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string table;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (k == 0 || summaries[k].panel != summaries[k - 1].panel) {
      if (k > 0) table += "\n";
      if (!summaries[k].panel.empty()) table += printable(summaries[k].panel) + "\n";
      table += line_of(column_names(), widths);
    }
    table += line_of(rows[k], widths);
  }
  return table;
}

}  // namespace ballast::records
