#include "ballast/records/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ballast/data/program.h"
#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ReportPage some_report() {
  ReportPage report{.title = "A < B & \xCF\x89"};
  report.sections = {{.heading = "\"First\"", .paragraphs = {"<script>alert('x')</script>"}},
                     {.heading = "Second",
                      .table = ReportTable{{"curve", "accuracy"}, {{"gm<", "97.1 \xC2\xB1 0.2"}}},
                      .svg = "<?xml version=\"1.0\"?>\n<!DOCTYPE svg>\n<svg id=\"f\"></svg>",
                      .caption = "What it shows"}};
  return report;
}

TEST(HtmlReport, EscapesEveryText) {
  const auto page = html_page(some_report());

  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(*page, HasSubstr("<title>A &lt; B &amp; \xCF\x89</title>"));
  EXPECT_THAT(*page, HasSubstr("<h2>&quot;First&quot;</h2>"));
  EXPECT_THAT(*page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)"));
  EXPECT_THAT(*page, HasSubstr("<td>gm&lt;</td>"));
  EXPECT_THAT(*page, Not(HasSubstr("<script")));
}

TEST(HtmlReport, PutsTheFigureInsideWithoutItsProlog) {
  const std::string page = html_page(some_report()).value();

  EXPECT_THAT(page, HasSubstr("<figure>\n<svg id=\"f\"></svg>\n<figcaption>What it shows"));
  EXPECT_THAT(page, Not(HasSubstr("<?xml")));
  EXPECT_THAT(page, Not(HasSubstr("<!DOCTYPE svg")));
}

TEST(HtmlReport, NeedsNothingFromOutside) {
  const std::string page = html_page(some_report()).value();
  for (const char* reference : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  }
}

TEST(HtmlReport, SetsNumbersFlushRight) {
  ReportPage report;
  report.sections = {{.table = ReportTable{{"a", "b", "c"}, {{"-1.5e-7", "12 %", "1 worker"}}}}};

  EXPECT_THAT(html_page(report).value(),
              HasSubstr("<td class=\"number\">-1.5e-7</td><td class=\"number\">12 %</td>"
                        "<td>1 worker</td>"));
}

TEST(HtmlReport, ListsItsSectionsWhenThereAreMany) {
  ReportPage report = some_report();
  EXPECT_THAT(html_page(report).value(), Not(HasSubstr("<nav")));

  report.sections.resize(4, {.heading = "More"});
  EXPECT_THAT(html_page(report).value(), HasSubstr("<a href=\"#section-4\">More</a>"));
}

TEST(HtmlReport, RefusesAFigureThatIsNone) {
  ReportPage report;
  report.sections = {{.svg = "a picture"}};
  EXPECT_FALSE(html_page(report));
}

// Python's parser of HTML is lenient, so the script counts the tags itself.
TEST(HtmlReport, ClosesEveryElementItOpens) {
  const auto folder = make_test_folder();
  std::ofstream(folder.path() / "page.html") << html_page(some_report()).value();
  std::ofstream(folder.path() / "check.py") << R"(
import html.parser

class Checker(html.parser.HTMLParser):
    open_tags = []
    def handle_starttag(self, tag, attributes):
        if tag != "meta":
            self.open_tags.append(tag)
    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag, tag

checker = Checker()
checker.feed(open("page.html", encoding="utf-8").read())
checker.close()
assert checker.open_tags == []
)";

  const Status status =
      data::run_program({.arguments = {"python3", "check.py"}, .folder = folder.path()});
  EXPECT_TRUE(status) << status.error().message;
}

}  // namespace
}  // namespace ballast::records
