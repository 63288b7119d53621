#include "ballast/records/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "ballast/base/check.h"

namespace ballast::records {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d1d1b; --soft: #5b5a55; --page: #fcfcfb;
  --line: #dddcd6; --stripe: #f3f3f0; --accent: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #ecebe6; --soft: #aeaca4; --page: #1a1a19;
  --line: #3a3a36; --stripe: #232321; --accent: #56b4e9; } }
body { margin: 0 auto; padding: 3rem 1.5rem; max-width: 64rem; background: var(--page);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
h1 { margin: 0 0 1.5rem; font-size: 1.9rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 .75rem; padding-top: 1rem; border-top: 1px solid var(--line);
  font-size: 1.25rem; }
p { margin: .75rem 0; max-width: 46rem; }
nav ul { margin: 0; padding-left: 1.2rem; color: var(--soft); }
a { color: var(--accent); }
.wide { overflow-x: auto; }
table { margin: 1rem 0; border-collapse: collapse; font-size: .92rem; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid var(--line); text-align: left; }
th { color: var(--soft); font-weight: 600; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody tr:nth-child(even) { background: var(--stripe); }
pre { padding: .6rem .8rem; overflow-x: auto; background: var(--stripe); }
figure { margin: 1.25rem 0; }
figure svg { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
figcaption { color: var(--soft); font-size: .9rem; }
@media print { :root { --ink: #000; --soft: #444; --page: #fff; --line: #bbb; --stripe: #fff; }
  body { padding: 0; max-width: none; font-size: 10.5pt; } nav { display: none; }
  figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
)";

std::string cells_html(const std::vector<std::string>& cells) {
  std::string html = "<tr>";
  for (const std::string& cell : cells) {
    html += fmt::format("<td{}>{}</td>", is_number_text(cell) ? " class=\"number\"" : "",
                        escape_html(cell));
  }
  return html + "</tr>\n";
}

std::string table_html(const ReportTable& table) {
  std::string html = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const std::string& column : table.columns) {
    html += fmt::format("<th scope=\"col\">{}</th>", escape_html(column));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    BALLAST_CHECK(row.size() == table.columns.size(), "a row has one cell per column");
    html += cells_html(row);
  }
  return html + "</tbody></table></div>\n";
}

// Without the XML declaration and the document type, which have no place inside a page.
Result<std::string> figure_html(std::string_view svg, std::string_view caption) {
  const std::size_t begin = svg.find("<svg");
  if (begin == std::string_view::npos)
    return invalid_argument("the figure is not an SVG; draw it again");
  std::string html = fmt::format("<figure>\n{}\n", svg.substr(begin));
  if (!caption.empty()) html += fmt::format("<figcaption>{}</figcaption>\n", escape_html(caption));
  return html + "</figure>\n";
}

Result<std::string> section_html(const ReportSection& section, std::size_t number) {
  std::string html = fmt::format("<section id=\"section-{}\">\n", number);
  if (!section.heading.empty()) html += fmt::format("<h2>{}</h2>\n", escape_html(section.heading));
  for (const std::string& paragraph : section.paragraphs) {
    html += fmt::format("<p>{}</p>\n", escape_html(paragraph));
  }
  if (!section.commands.empty()) {
    html += fmt::format("<pre>{}</pre>\n", escape_html(section.commands));
  }
  if (!section.svg.empty()) {
    BALLAST_TRY(const std::string figure, figure_html(section.svg, section.caption));
    html += figure;
  }
  if (section.table) html += table_html(*section.table);
  return html + "</section>\n";
}

std::string contents_html(const std::vector<ReportSection>& sections) {
  constexpr std::size_t kSectionsWithoutContents = 3;
  if (sections.size() <= kSectionsWithoutContents) return {};
  std::string html = "<nav aria-label=\"Contents\"><ul>\n";
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].heading.empty()) continue;
    html += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i + 1,
                        escape_html(sections[i].heading));
  }
  return html + "</ul></nav>\n";
}

}  // namespace

bool is_number_text(std::string_view text) {
  const bool has_digit = std::ranges::any_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return has_digit && text.find_first_not_of("0123456789+-.,% e\xC2\xB1") == std::string_view::npos;
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

Result<std::string> html_page(const ReportPage& report) {
  const std::string title = escape_html(report.title);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      title, kStyle);
  html += contents_html(report.sections);
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    BALLAST_TRY(const std::string section, section_html(report.sections[i], i + 1));
    html += section;
  }
  return html + "</body>\n</html>\n";
}

}  // namespace ballast::records
