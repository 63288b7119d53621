#include "ballast/experiment/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "ballast/files/text_file.h"
#include "ballast/records/html_report.h"
#include "ballast/records/summary.h"

namespace ballast::experiment {
namespace {

using records::ReportSection;
using records::ReportTable;

constexpr std::size_t kPictureBytesMax = std::size_t{1} << 26;

constexpr std::string_view kShares =
    "Stated and run. The paper states the Byzantine share \xCE\xBB of all updates for each of its "
    "experiments. Its published code lets a Byzantine worker send at every k-th update, k being "
    "1/\xCE\xBB rounded up to a whole number, and so ran 1/3 where the paper states 0.4, and 1/4 "
    "where it states 0.3; 0.1 was run as stated. The difference is not small: a share of 0.4 held "
    "by a single worker can capture the geometric median, although it is below one half. Each "
    "panel is therefore shown twice, at the share that the paper states and at the share that its "
    "code ran, and every claim is judged at both. Here a share is exact: after t updates, the "
    "Byzantine ones are \xCE\xBBt, rounded down.";

constexpr std::string_view kCap =
    "The curve marked f-cap is not in the paper. It weighs the same updates by counts that are cut "
    "so that the f heaviest workers never hold more than a given share of all weight, whoever they "
    "are: a fast liar gains nothing by sending more. Before enough workers have sent for the cap "
    "to exist (all 17, where f is 8 of 17) the model stands still, and the curve is flat. "
    "Everything else is as in the curve of the same name, except that \xCF\x89-CTMA is told the "
    "cap's share.";

constexpr std::string_view kJudged =
    "A claim holds in a panel if the final test accuracy of the one curve, mean over the seeds, is "
    "at least that of the other plus the margin. Nothing was tuned to make a claim hold.";

constexpr std::string_view kQuick =
    "This is the quick version: one seed, and runs that are much shorter than the paper's, equally "
    "for all curves. Accuracies are lower than in the full version, and differences of a point or "
    "two mean little. The full version is made by the same command without --quick.";

std::string per_cent(const records::Spread& accuracy, std::size_t seeds) {
  if (seeds < 2) return fmt::format("{:.2f}", 100.0 * accuracy.mean);
  return fmt::format("{:.2f} \xC2\xB1 {:.2f}", 100.0 * accuracy.mean, 100.0 * accuracy.deviation);
}

std::string verdict(const JudgedClaim& judged) {
  if (judged.has_diverged) return "does not hold (diverged)";
  return judged.holds ? "holds" : "does not hold";
}

ReportSection introduction(const ReportOptions& options) {
  ReportSection section{.heading = "What this shows"};
  if (options.is_quick) section.paragraphs.emplace_back(kQuick);
  for (const std::string_view text : {kShares, kCap, kJudged})
    section.paragraphs.emplace_back(text);
  return section;
}

// What became of one claim in the panels that were run as stated, or in the others.
std::string count_text(const FigureResult& result, const std::string& claim, bool is_as_stated) {
  std::size_t panels = 0;
  std::size_t held = 0;
  for (const JudgedClaim& judged : result.claims) {
    if (judged.claim.text != claim || judged.is_as_stated() != is_as_stated) continue;
    ++panels;
    if (judged.holds) ++held;
  }
  if (panels == 0) return "not run";
  if (held == panels) return "holds";
  if (held == 0) return "does not hold";
  return fmt::format("holds in {} of {} panels", held, panels);
}

ReportSection overview(std::span<const FigureResult> figures) {
  ReportTable table{
      .columns = {"figure", "claim", "at the share stated", "at the share its code ran"},
      .rows = {}};
  for (const FigureResult& result : figures) {
    for (const Claim& claim : result.figure.spec.claims) {
      table.rows.push_back({fmt::format("{}", result.figure.number), claim.text,
                            count_text(result, claim.text, true),
                            count_text(result, claim.text, false)});
    }
  }
  return {.heading = "The paper's claims in short", .table = std::move(table)};
}

ReportTable result_table_of(const FigureResult& result) {
  ReportTable table{.columns = {"panel", "curve", "accuracy %", "best %", "updates", "seeds"},
                    .rows = {}};
  for (const records::CurveSummary& summary : records::summarise(result.records)) {
    std::string seeds = fmt::format("{}", summary.seeds.size());
    if (summary.diverged > 0) seeds += fmt::format(", {} diverged", summary.diverged);
    table.rows.push_back({summary.panel, summary.curve,
                          per_cent(summary.final_accuracy, summary.seeds.size()),
                          fmt::format("{:.2f}", 100.0 * summary.best_accuracy),
                          fmt::format("{}", summary.t), std::move(seeds)});
  }
  return table;
}

std::string setting_text(const Spec& spec) {
  return fmt::format(
      "{} workers, arrivals {}, batches of {}, {} updates, {} {}. Lines are means over the "
      "seeds, bands one standard deviation.",
      spec.base.workers, to_plain_text(find_key("arrivals").value()->get(spec.base)),
      spec.base.batch, spec.base.updates, spec.seeds.size(),
      spec.seeds.size() == 1 ? "seed" : "seeds");
}

Result<ReportSection> figure_section(const FigureResult& result, const ReportOptions& options) {
  const Figure& figure = result.figure;
  ReportSection section{.heading = figure.title,
                        .paragraphs = {setting_text(figure.spec)},
                        .table = result_table_of(result),
                        .caption = "Test accuracy against updates. \xCE\xBB: Byzantine share."};
  if (!result.warning.empty()) {
    section.paragraphs.push_back(result.warning);
    return section;
  }
  const auto picture = options.folder / fmt::format("fig{}", figure.number) / "curves.svg";
  BALLAST_TRY(section.svg, files::naming(picture, files::read_text(picture, kPictureBytesMax)));
  return section;
}

ReportSection claims_section(const FigureResult& result) {
  const std::size_t seeds = result.figure.spec.seeds.size();
  ReportTable table{.columns = {"claim", "panel", "share stated", "share run", "better %",
                                "worse %", "margin", "verdict"},
                    .rows = {}};
  for (const JudgedClaim& judged : result.claims) {
    table.rows.push_back({judged.claim.text, judged.panel, share_text(judged.stated_share),
                          share_text(judged.share), per_cent(judged.better, seeds),
                          per_cent(judged.worse, seeds), fmt::format("{}", judged.claim.margin),
                          verdict(judged)});
  }
  return {.heading = fmt::format("Figure {}: claims", result.figure.number),
          .table = std::move(table)};
}

}  // namespace

Result<std::string> report_page(std::span<const FigureResult> figures,
                                const ReportOptions& options) {
  records::Report report{.title = "Weight for Robustness, reproduced"};
  if (options.is_quick) report.title += " (quick version)";
  report.sections = {introduction(options), overview(figures)};
  for (const FigureResult& result : figures) {
    BALLAST_TRY(ReportSection section, figure_section(result, options));
    report.sections.push_back(std::move(section));
    report.sections.push_back(claims_section(result));
  }
  return records::html_page(report);
}

}  // namespace ballast::experiment
