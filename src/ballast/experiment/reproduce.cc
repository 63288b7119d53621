#include "ballast/experiment/reproduce.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/experiment/claims.h"
#include "ballast/experiment/runner.h"
#include "ballast/files/text_file.h"
#include "ballast/records/markdown_report.h"

namespace ballast::experiment {
namespace {

using Plan = std::vector<PlannedRun>;

std::uint64_t updates_of(const Plan& plan) {
  std::uint64_t updates = 0;
  for (const PlannedRun& planned : plan) updates += planned.run.updates;
  return updates;
}

std::filesystem::path figure_folder(const PaperFigure& figure, const ReproduceOptions& options) {
  return options.folder / fmt::format("fig{}", figure.number);
}

// Expands the figures and loads what they need.
Result<std::vector<Plan>> prepare(const std::vector<PaperFigure>& figures,
                                  assembly::Materials& materials) {
  std::vector<Plan> plans;
  for (const PaperFigure& figure : figures) {
    BALLAST_TRY(Plan plan, expand(figure.spec));
    for (const PlannedRun& planned : plan) {
      if (const auto material = materials.get(planned.run); !material) {
        return tl::unexpected(
            Error{material.error().code,
                  fmt::format("figure {}: {}", figure.number, material.error().message)});
      }
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

// The other figures' folders are passed along because some runs stand in two figures.
Result<RunnerResult> run_figure(const PaperFigure& figure, const Plan& plan,
                                assembly::Materials& materials,
                                const std::vector<std::filesystem::path>& others,
                                const ReproduceOptions& options) {
  return run_all(figure.spec, {.folder = figure_folder(figure, options),
                               .threads = options.threads,
                               .title = figure.title,
                               .keeps_models = false,
                               .replaces_others = options.replaces_others,
                               .other_folders = others,
                               .materials = &materials,
                               .stop = options.stop,
                               .wall_time = options.wall_time,
                               .on_start =
                                   [&](std::uint64_t updates, std::size_t) {
                                     options.on_figure(figure, updates_of(plan) - updates);
                                   },
                               .on_progress = options.on_progress,
                               .on_resume = options.on_resume});
}

// The pictures under the names that the page of Markdown has for them.
Status write_pictures(const records::ReportPage& report, const std::filesystem::path& folder) {
  BALLAST_TRY_STATUS(files::make_folder(folder / "images"));
  for (const records::ReportSection& section : report.sections) {
    if (section.picture.empty()) continue;
    BALLAST_TRY_STATUS(files::write_text(folder / section.picture, section.svg));
  }
  return {};
}

Status write_results(const std::vector<FigureResult>& figures, const ReproduceOptions& options) {
  std::vector<FigureClaims> claims;
  claims.reserve(figures.size());
  for (const FigureResult& result : figures) {
    claims.push_back({.figure = result.figure.number, .claims = result.claims});
  }
  BALLAST_TRY(const std::string json, claims_json(claims));
  BALLAST_TRY_STATUS(files::write_text(options.folder / "claims.json", json));
  BALLAST_TRY(const records::ReportPage report, make_report(figures, {.folder = options.folder,
                                                                      .is_quick = options.is_quick,
                                                                      .command = options.command,
                                                                      .program = options.program}));
  BALLAST_TRY(const std::string page, records::html_page(report));
  BALLAST_TRY_STATUS(files::write_text(options.folder / "report.html", page));
  BALLAST_TRY_STATUS(write_pictures(report, options.folder));
  return files::write_text(options.folder / "results.md", records::markdown_page(report));
}

}  // namespace

Result<ReproduceResult> reproduce(const std::vector<PaperFigure>& figures,
                                  const ReproduceOptions& options) {
  assembly::Materials materials;
  BALLAST_TRY(const std::vector<Plan> plans, prepare(figures, materials));
  std::uint64_t updates = 0;
  for (const Plan& plan : plans) updates += updates_of(plan);
  options.on_start(updates);
  ReproduceResult result;
  std::vector<std::filesystem::path> others;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    BALLAST_TRY(RunnerResult runs, run_figure(figures[i], plans[i], materials, others, options));
    others.push_back(figure_folder(figures[i], options));
    if (!runs.is_complete) return result;
    result.figures.push_back({.figure = figures[i],
                              .records = runs.records,
                              .claims = judge_claims(figures[i].spec, plans[i], runs.records),
                              .warning = runs.warning});
  }
  BALLAST_TRY_STATUS(write_results(result.figures, options));
  result.is_complete = true;
  return result;
}

}  // namespace ballast::experiment
