#pragma once
// Reports as one page of Markdown, for a repository: pictures are links, text is escaped.

#include <string>

#include "ballast/records/html_report.h"

namespace ballast::records {

// The page: headings, paragraphs, pictures by their path, tables with numbers flush right. A
// section with an SVG but without a path for it is shown without its picture.
//
// Requires: each row of a table has one cell per column.
std::string markdown_page(const ReportPage& report);

}  // namespace ballast::records
