#pragma once
// Reports as one HTML page that needs nothing else: style and figures are inside, text is escaped.
// It prints well and follows the reader's choice of light or dark.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::records {

struct ReportTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct ReportSection {
  std::string heading = {};
  std::vector<std::string> paragraphs = {};
  std::optional<ReportTable> table = {};
  std::string svg = {};       // a figure as an SVG document of our own making; none when empty
  std::string picture = {};   // the path of that figure, for pages that link to it
  std::string caption = {};   // below the figure
  std::string commands = {};  // what to type, line by line; none when empty
};

struct ReportPage {
  std::string title = {};
  std::vector<ReportSection> sections = {};
};

// Digits with what may stand around them: signs, points, per cent, a deviation.
bool is_number_text(std::string_view text);

// The text with <, >, &, " and ' as entities.
std::string escape_html(std::string_view text);

// The page. Cells that are numbers are set flush right. An SVG is taken as it is from its <svg on,
// so it must not come from outside; one without <svg is refused.
//
// Requires: each row of a table has one cell per column.
Result<std::string> html_page(const ReportPage& report);

}  // namespace ballast::records
