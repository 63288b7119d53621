#include "ballast/records/markdown_report.h"

#include <gtest/gtest.h>

namespace ballast::records {
namespace {

TEST(MarkdownPage, HasHeadingsParagraphsCommandsPicturesAndTables) {
  const ReportPage report{
      .title = "Results",
      .sections = {{.heading = "Figure 1",
                    .paragraphs = {"One.", "Two."},
                    .table = ReportTable{.columns = {"curve", "accuracy"},
                                         .rows = {{"mean", "97.10 \xC2\xB1 0.20"}}},
                    .svg = "<svg></svg>",
                    .picture = "images/fig1.svg",
                    .caption = "Accuracy",
                    .commands = "ballast reproduce --figure 1"}}};
  EXPECT_EQ(markdown_page(report),
            "# Results\n"
            "\n## Figure 1\n"
            "\nOne.\n"
            "\nTwo.\n"
            "\n```\nballast reproduce --figure 1\n```\n"
            "\n![Accuracy](images/fig1.svg)\n"
            "\n| curve | accuracy |\n|---|---:|\n| mean | 97.10 \xC2\xB1 0.20 |\n");
}

TEST(MarkdownPage, EscapesWhatWouldBeMarkup) {
  const ReportPage report{
      .title = "a|b",
      .sections = {{.table = ReportTable{.columns = {"<b>"}, .rows = {{"x|y\nz"}, {"`"}}}}}};
  EXPECT_EQ(markdown_page(report), "# a\\|b\n\n| &lt;b> |\n|---|\n| x\\|y z |\n| \\` |\n");
}

}  // namespace
}  // namespace ballast::records
