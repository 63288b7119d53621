#include "ballast/records/markdown_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ballast/base/check.h"

namespace ballast::records {
namespace {

// Texts are labels and sentences of a specification: what Markdown would take for a tag, a new
// column or a new line is escaped, and the rest reads as it is.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`') {
      result += '\\';
      result += c;
    } else if (c == '<') {
      result += "&lt;";
    } else {
      result += c == '\n' || c == '\r' ? ' ' : c;
    }
  }
  return result;
}

std::string row_text(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += fmt::format(" {} |", escaped(cell));
  return text + "\n";
}

// A column is flush right if all its cells are numbers.
std::string rule_text(const ReportTable& table) {
  std::string text = "|";
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const bool has_numbers = std::ranges::all_of(
        table.rows, [column](const auto& row) { return is_number_text(row[column]); });
    text += has_numbers && !table.rows.empty() ? "---:|" : "---|";
  }
  return text + "\n";
}

std::string table_text(const ReportTable& table) {
  for (const auto& row : table.rows) {
    BALLAST_CHECK(row.size() == table.columns.size(), "a row has one cell per column");
  }
  std::string text = row_text(table.columns) + rule_text(table);
  for (const auto& row : table.rows) text += row_text(row);
  return text;
}

std::string section_text(const ReportSection& section) {
  std::string text;
  if (!section.heading.empty()) text += fmt::format("\n## {}\n", escaped(section.heading));
  for (const std::string& paragraph : section.paragraphs) {
    text += fmt::format("\n{}\n", escaped(paragraph));
  }
  if (!section.commands.empty()) text += fmt::format("\n```\n{}\n```\n", section.commands);
  if (!section.picture.empty()) {
    text += fmt::format("\n![{}]({})\n", escaped(section.caption), section.picture);
  }
  if (section.table) text += fmt::format("\n{}", table_text(*section.table));
  return text;
}

}  // namespace

std::string markdown_page(const ReportPage& report) {
  std::string text = fmt::format("# {}\n", escaped(report.title));
  for (const ReportSection& section : report.sections) text += section_text(section);
  return text;
}

}  // namespace ballast::records
