#include "ballast/verify/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/files/text_file.h"
#include "ballast/records/html_report.h"

namespace ballast::verify {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFigureBytesMax = 16u << 20;

std::string verdict_text(bool holds) { return holds ? "holds" : "DOES NOT HOLD"; }

const Check& tightest(const Findings& findings) {
  return *std::ranges::min_element(findings.checks, {}, margin);
}

// A text table whose columns are as wide as their longest cell.
std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}} ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::vector<std::string> cells_of(const std::string& first, const Check& check) {
  return {first, predicted_text(check), measured_text(check), verdict_text(check.holds())};
}

std::string table_of_checks(const Findings& findings) {
  std::vector<std::vector<std::string>> rows = {{"check", "predicted", "measured", "verdict"}};
  for (const Check& check : findings.checks) rows.push_back(cells_of(check.what, check));
  return text_table(rows);
}

std::string table_of_claims(std::span<const CheckedClaim> checked) {
  std::vector<std::vector<std::string>> rows = {
      {"claim", "predicted", "measured", "verdict", "checks", "nearest to failing"}};
  for (const auto& [claim, findings] : checked) {
    const Check& check = tightest(findings);
    rows.push_back({std::string(claim.name), predicted_text(check), measured_text(check),
                    verdict_text(findings.hold()), fmt::format("{}", findings.checks.size()),
                    check.what});
  }
  return text_table(rows);
}

std::string failures(std::span<const CheckedClaim> checked) {
  std::vector<std::vector<std::string>> rows = {{"fails", "predicted", "measured", "verdict"}};
  for (const auto& [claim, findings] : checked) {
    for (const Check& check : findings.checks) {
      if (check.holds()) continue;
      rows.push_back(cells_of(fmt::format("{}: {}", claim.name, check.what), check));
    }
  }
  return rows.size() == 1 ? "" : fmt::format("\n{}", text_table(rows));
}

std::string_view relation_text(Relation relation) {
  constexpr std::string_view kTexts[] = {"at most", "at least", "equal"};
  return kTexts[static_cast<std::size_t>(relation)];
}

Json check_json(const Check& check) {
  return {{"what", check.what},        {"relation", relation_text(check.relation)},
          {"limit", check.limit},      {"tolerance", check.tolerance},
          {"reason", check.reason},    {"measured", check.measured.value},
          {"low", check.measured.low}, {"high", check.measured.high},
          {"holds", check.holds()}};
}

Json figure_json(const records::Figure& figure) {
  Json curves = Json::array();
  for (const records::FigureCurve& curve : figure.curves) {
    curves.push_back({{"label", curve.label}, {"x", curve.x}, {"y", curve.y}});
  }
  return {{"file", figure.stem + ".svg"}, {"title", figure.title}, {"curves", std::move(curves)}};
}

records::ReportTable report_table(const Findings& findings) {
  records::ReportTable table{.columns = {"check", "predicted", "why", "measured", "verdict"},
                             .rows = {}};
  for (const Check& check : findings.checks) {
    table.rows.push_back({check.what, predicted_text(check), check.reason, measured_text(check),
                          verdict_text(check.holds())});
  }
  return table;
}

records::ReportSection overview(std::span<const CheckedClaim> checked, bool is_quick) {
  records::ReportTable table{.columns = {"claim", "in the paper", "checks", "verdict"}, .rows = {}};
  for (const auto& [claim, findings] : checked) {
    table.rows.push_back({std::string(claim.name), std::string(claim.source),
                          fmt::format("{}", findings.checks.size()),
                          verdict_text(findings.hold())});
  }
  return {
      .heading = "Overview",
      .paragraphs = {fmt::format(
          "The claims of \"Weight for Robustness\" (Dahan and Levy, 2024), checked on convex "
          "problems with known optimum by the server, workers, schedules and rules that also "
          "train. {}. Intervals are Student's with 95 % confidence over independent seeds; a "
          "check holds if all of its interval does. Numbers without an interval were computed, "
          "not estimated.",
          is_quick ? "This was a quick run, with fewer seeds and updates" : "This was a full run")},
      .table = std::move(table)};
}

// The drawing of a figure, empty if it could not be drawn; then `warning` says why.
Result<std::string> drawn(const std::filesystem::path& folder, const records::Figure& figure,
                          std::string& warning) {
  if (const Status status = records::draw_figure(folder, figure); !status) {
    warning = status.error().message;
    return std::string();
  }
  return files::read_text(folder / (figure.stem + ".svg"), kFigureBytesMax);
}

}  // namespace

Result<std::vector<CheckedClaim>> check_claims(
    std::span<const TheoryClaim> claims, const Lab& lab,
    const std::function<void(std::string_view)>& on_claim) {
  std::vector<CheckedClaim> checked;
  for (const TheoryClaim& claim : claims) {
    if (on_claim) on_claim(claim.name);
    auto findings = claim.check(lab);
    if (!findings) {
      Error error = std::move(findings).error();
      error.message = fmt::format("{}: {}", claim.name, error.message);
      return tl::unexpected(std::move(error));
    }
    for (const Check& check : findings->checks) {
      BALLAST_CHECK(lab.has_mutant || check.can_fail(), check.what.c_str());
    }
    checked.push_back({.claim = claim, .findings = std::move(*findings)});
  }
  return checked;
}

bool all_hold(std::span<const CheckedClaim> checked) {
  return std::ranges::all_of(checked, [](const CheckedClaim& one) { return one.findings.hold(); });
}

double margin(const Check& check) {
  const double above = check.limit + check.tolerance - check.measured.high;
  const double below = check.measured.low - (check.limit - check.tolerance);
  const double room = check.relation == Relation::kAtMost    ? above
                      : check.relation == Relation::kAtLeast ? below
                                                             : std::min(above, below);
  if (std::isnan(above + below)) return -std::numeric_limits<double>::infinity();
  return room / std::max(std::abs(check.limit), 1e-12);
}

std::string predicted_text(const Check& check) {
  if (check.relation == Relation::kEqual) {
    return fmt::format("{:.4g} +- {:.2g}", check.limit, check.tolerance);
  }
  return fmt::format("{} {:.4g}", check.relation == Relation::kAtMost ? "<=" : ">=", check.limit);
}

std::string measured_text(const Check& check) {
  const Estimate& measured = check.measured;
  if (measured.low == measured.high) return fmt::format("{:.3g}", measured.value);
  return fmt::format("{:.3g} [{:.3g}, {:.3g}]", measured.value, measured.low, measured.high);
}

std::string claim_table(std::span<const CheckedClaim> checked) {
  if (checked.size() == 1) return table_of_checks(checked[0].findings);
  return table_of_claims(checked) + failures(checked);
}

std::string claims_json(std::span<const CheckedClaim> checked, bool is_quick) {
  Json claims = Json::array();
  for (const auto& [claim, findings] : checked) {
    Json checks = Json::array(), figures = Json::array();
    for (const Check& check : findings.checks) checks.push_back(check_json(check));
    for (const records::Figure& figure : findings.figures) figures.push_back(figure_json(figure));
    claims.push_back({{"name", claim.name},
                      {"source", claim.source},
                      {"statement", claim.statement},
                      {"holds", findings.hold()},
                      {"checks", std::move(checks)},
                      {"figures", std::move(figures)}});
  }
  return Json{{"quick", is_quick}, {"holds", all_hold(checked)}, {"claims", std::move(claims)}}
             .dump(2) +
         "\n";
}

Result<std::string> write_report(const std::filesystem::path& folder,
                                 std::span<const CheckedClaim> checked, bool is_quick) {
  BALLAST_TRY_STATUS(files::make_folder(folder));
  BALLAST_TRY_STATUS(files::write_text(folder / "claims.json", claims_json(checked, is_quick)));
  records::ReportPage report{.title = "The theory, checked",
                             .sections = {overview(checked, is_quick)}};
  std::string warning;
  for (const auto& [claim, findings] : checked) {
    report.sections.push_back(
        {.heading = fmt::format("{}: {}", claim.name, verdict_text(findings.hold())),
         .paragraphs = {std::string(claim.statement), fmt::format("Source: {}.", claim.source)},
         .table = report_table(findings)});
    for (const records::Figure& figure : findings.figures) {
      BALLAST_TRY(std::string svg, drawn(folder, figure, warning));
      if (svg.empty()) continue;
      report.sections.push_back({.svg = std::move(svg), .caption = figure.title});
    }
  }
  BALLAST_TRY(const std::string page, records::html_page(report));
  BALLAST_TRY_STATUS(files::write_text(folder / "report.html", page));
  return warning;
}

}  // namespace ballast::verify
