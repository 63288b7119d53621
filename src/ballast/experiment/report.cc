#include "ballast/experiment/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "ballast/files/text_file.h"
#include "ballast/records/summary.h"

namespace ballast::experiment {
namespace {

using records::Finding;
using records::ReportSection;
using records::ReportTable;

constexpr std::size_t kPictureBytesMax = std::size_t{1} << 26;

constexpr std::string_view kNumbers =
    "Numbers are test accuracy in per cent after the last update, mean and standard deviation over "
    "the seeds. Every run is a function of program, specification and seed: the same commands give "
    "the same tables and pictures. Nothing was tuned.";

constexpr std::string_view kShares =
    "Stated and run. The paper states the Byzantine share \xCE\xBB of all updates for each of its "
    "experiments. Its published code lets a Byzantine worker send at every k-th update, k being "
    "1/\xCE\xBB rounded up to a whole number, and so ran 1/3 where the paper states 0.4, and 1/4 "
    "where it states 0.3; 0.1 was run as stated. The difference is not small: a share of 0.4 held "
    "by a single worker can capture the geometric median, although it is below one half. Each "
    "panel is therefore shown twice, at the share that the paper states and at the share that its "
    "code ran, and every claim is judged at both. Here a share is exact: after t updates, the "
    "Byzantine ones are \xCE\xBBt, rounded down. \xCF\x89-CTMA is told the share that is run.";

constexpr std::string_view kMedian =
    "Two geometric medians. \xCF\x89-GM is the weighted geometric median, converged. The published "
    "code takes three Weiszfeld steps from the origin instead, which is another rule; curves "
    "marked \"3 steps\" do the same.";

constexpr std::string_view kRecommended =
    "The curve marked recommended is not in the paper: \xCF\x89-GM + \xCF\x89-CTMA with weights "
    "that are counts, cut so that no worker holds more than 0.2 of all weight (the f-cap with f = "
    "1): a fast liar gains nothing by sending more. Rows that agree better than independent ones "
    "can share one weight (distinct): liars gain nothing by saying the same. Workers are judged by "
    "the average of their past, table(past=30): a lie within the noise gains nothing by being "
    "repeated. It is the same setting in every panel.";

constexpr std::string_view kJudged =
    "Claims are judged by paired tests. Runs of the same seed share their data and their arrivals, "
    "so two curves are compared seed by seed; the numbers are the mean difference in points and, "
    "in brackets, Student's 95 % interval for it. A claim that one curve is ahead holds where the "
    "whole interval is at or above 0, and fails where all of it is below. A claim that two are on "
    "par within one point holds where the whole interval lies between -1 and +1, and fails where "
    "all of it lies outside. Otherwise it is not decided: the seeds are too few, or the curves too "
    "close. One seed decides nothing.";

constexpr std::string_view kQuick =
    "This is the quick version: one seed, and runs that are much shorter than the paper's, equally "
    "for all curves. Accuracies are lower than in the full version, differences of a point or two "
    "mean little, and no claim can be decided. The full version is made by the same command "
    "without --quick.";

std::string per_cent(const records::CurveSummary& summary) {
  const records::Spread& accuracy = summary.final_accuracy;
  std::string text = fmt::format("{:.1f}", 100.0 * accuracy.mean);
  if (summary.seeds.size() > 1) text += fmt::format(" \xC2\xB1 {:.1f}", 100.0 * accuracy.deviation);
  if (summary.diverged > 0) text += fmt::format(" ({} diverged)", summary.diverged);
  return text;
}

std::string finding_text(const JudgedClaim& judged) {
  if (judged.has_diverged) return "fails (diverged)";
  return std::string(to_text(judged.finding));
}

ReportSection introduction(const ReportOptions& options) {
  ReportSection section{.heading = "What this shows"};
  if (!options.command.empty()) {
    section.paragraphs.push_back(fmt::format("Made by {} with", options.program));
    section.commands = options.command;
  }
  return section;
}

ReportSection how_to_read(const ReportOptions& options) {
  ReportSection section;
  if (options.is_quick) section.paragraphs.emplace_back(kQuick);
  for (const std::string_view text : {kNumbers, kShares, kMedian, kRecommended, kJudged}) {
    section.paragraphs.emplace_back(text);
  }
  return section;
}

// What became of one claim in the panels that were run as stated, or in the others.
std::string count_text(const FigureResult& result, const std::string& claim, bool is_as_stated) {
  std::map<Finding, std::size_t> counts;
  std::size_t panels = 0;
  for (const JudgedClaim& judged : result.claims) {
    if (judged.claim.text != claim || judged.is_as_stated() != is_as_stated) continue;
    ++panels;
    ++counts[judged.finding];
  }
  if (panels == 0) return "not run";
  std::string text;
  for (const auto& [finding, count] : counts) {
    if (!text.empty()) text += ", ";
    text += to_text(finding);
    if (count < panels) text += fmt::format(" in {}", count);
  }
  return counts.size() > 1 ? fmt::format("{} of {}", text, panels) : text;
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

// One line per curve, one column per panel.
ReportTable result_table_of(const FigureResult& result) {
  ReportTable table{.columns = {"curve"}, .rows = {}};
  for (const records::CurveSummary& summary : records::summarise(result.records)) {
    auto column = std::ranges::find(table.columns, summary.panel);
    if (column == table.columns.end()) {
      column = table.columns.insert(table.columns.end(), summary.panel);
      for (auto& row : table.rows) row.emplace_back();
    }
    auto row = std::ranges::find_if(
        table.rows, [&](const auto& cells) { return cells.front() == summary.curve; });
    if (row == table.rows.end()) {
      row = table.rows.insert(table.rows.end(), std::vector<std::string>(table.columns.size()));
      row->front() = summary.curve;
    }
    (*row)[static_cast<std::size_t>(column - table.columns.begin())] = per_cent(summary);
  }
  return table;
}

std::string setting_text(const Spec& spec) {
  return fmt::format(
      "{} workers, arrivals {}, batches of {}, {} updates, {} {}. Lines are means over the "
      "seeds, bands one standard deviation.",
      spec.base.workers,
      assembly::to_plain_text(assembly::find_key("arrivals").value()->get(spec.base)),
      spec.base.batch, spec.base.updates, spec.seeds.size(),
      spec.seeds.size() == 1 ? "seed" : "seeds");
}

Result<ReportSection> figure_section(const FigureResult& result, const ReportOptions& options) {
  const PaperFigure& figure = result.figure;
  ReportSection section{.heading = figure.title,
                        .paragraphs = {setting_text(figure.spec)},
                        .table = result_table_of(result),
                        .caption = "Test accuracy against updates. \xCE\xBB: Byzantine share."};
  if (!result.warning.empty()) {
    section.paragraphs.push_back(result.warning);
    return section;
  }
  const auto picture = options.folder / fmt::format("fig{}", figure.number) / "curves.svg";
  BALLAST_TRY(section.svg, files::read_text(picture, kPictureBytesMax));
  section.picture = fmt::format("images/fig{}.svg", figure.number);
  return section;
}

ReportSection claims_section(const FigureResult& result) {
  ReportTable table{
      .columns = {"claim", "panel", "share stated", "share run", "difference", "asked", "finding"},
      .rows = {}};
  for (const JudgedClaim& judged : result.claims) {
    table.rows.push_back({judged.claim.text, judged.panel, share_text(judged.stated_share),
                          share_text(judged.share), difference_text(judged.difference),
                          demand_text(judged.claim), finding_text(judged)});
  }
  return {.heading = fmt::format("Figure {}: claims", result.figure.number),
          .table = std::move(table)};
}

}  // namespace

Result<records::ReportPage> make_report(std::span<const FigureResult> figures,
                                        const ReportOptions& options) {
  records::ReportPage report{.title = "Weight for Robustness, reproduced"};
  if (options.is_quick) report.title += " (quick version)";
  report.sections = {introduction(options), how_to_read(options), overview(figures)};
  for (const FigureResult& result : figures) {
    BALLAST_TRY(ReportSection section, figure_section(result, options));
    report.sections.push_back(std::move(section));
    report.sections.push_back(claims_section(result));
  }
  return report;
}

}  // namespace ballast::experiment
