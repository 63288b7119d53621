#include "ballast/arena/arena.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ballast/assembly/materials.h"
#include "ballast/assembly/parts.h"
#include "ballast/base/check.h"
#include "ballast/experiment/runner.h"
#include "ballast/files/text_file.h"
#include "ballast/records/heat_map.h"
#include "ballast/records/markdown_report.h"

namespace ballast::arena {
namespace {

using experiment::PlannedRun;
using experiment::Spec;
using experiment::Variant;
using Plan = std::vector<PlannedRun>;

constexpr std::size_t kPictureBytesMax = std::size_t{1} << 26;

struct Load {
  std::uint64_t updates = 0;
  std::size_t runs = 0;
};

Load load_of(const Plan& plan) {
  Load load{.updates = 0, .runs = plan.size()};
  for (const PlannedRun& planned : plan) load.updates += planned.run.updates;
  return load;
}

// The curves of the labels, in their order, without panels that these contests lack.
std::vector<Variant> curves_of(const std::vector<Variant>& curves,
                               const std::vector<std::string>& labels, const Spec& spec) {
  std::vector<Variant> chosen;
  for (const std::string& label : labels) {
    const auto found = std::ranges::find(curves, label, &Variant::label);
    BALLAST_CHECK(found != curves.end(), "the best are of the contest before");
    chosen.push_back(*found);
    std::erase_if(chosen.back().not_in, [&](const std::string& panel) {
      return std::ranges::find(spec.panels, panel, &Variant::label) == spec.panels.end();
    });
  }
  return chosen;
}

// The validator's own words on a curve in a panel that it is left out of.
std::string reason_of(const Spec& spec, const Variant& curve, const std::string& panel) {
  Spec alone = spec;
  alone.curves = {curve};
  alone.curves.front().not_in.clear();
  std::erase_if(alone.panels, [&](const Variant& other) { return other.label != panel; });
  const auto runs = experiment::expand(alone);
  if (runs) return "left out by the specification";
  // Without the file and the line, which stand in front.
  const std::string& message = runs.error().message;
  const std::size_t at = message.find(": ");
  return at == std::string::npos ? message : message.substr(at + 2);
}

std::vector<NotRun> not_run(const Spec& spec) {
  std::vector<NotRun> result;
  for (const Variant& curve : spec.curves) {
    for (const std::string& panel : curve.not_in) {
      result.push_back(
          {.method = curve.label, .world = panel, .reason = reason_of(spec, curve, panel)});
    }
  }
  return result;
}

// What the page says of each panel, from its first run.
Result<std::vector<ContestWorld>> worlds_of(const Plan& plan) {
  std::vector<ContestWorld> worlds;
  for (const PlannedRun& planned : plan) {
    if (std::ranges::find(worlds, planned.panel_label, &ContestWorld::label) != worlds.end())
      continue;
    ContestWorld world{.label = planned.panel_label, .run = planned.run};
    if (planned.run.clock == assembly::Clock::kVirtual) {
      BALLAST_TRY(const auto arrivals, assembly::make_arrivals(planned.run, planned.seed));
      world.virtual_seconds = std::chrono::duration<double>(arrivals.back().at).count();
    }
    worlds.push_back(std::move(world));
  }
  return worlds;
}

class Arena {
 public:
  Arena(std::vector<ContestSpec> contests, const ArenaOptions& options)
      : contests_(std::move(contests)), options_(options) {}

  Result<ArenaResult> run() {
    BALLAST_TRY_STATUS(look_at_everything());
    for (ContestSpec& contest : contests_) {
      BALLAST_TRY(const bool is_complete, run_contest(contest));
      if (!is_complete) return std::move(result_);
    }
    draw();
    BALLAST_TRY_STATUS(write_pages());
    result_.is_complete = true;
    return std::move(result_);
  }

 private:
  // Plans every run and loads what they need. Of a contest among the best, which are not known yet,
  // all methods of the one before are looked at, and the first of them counted.
  Status look_at_everything() {
    Load load;
    std::vector<Variant> curves;
    for (const ContestSpec& contest : contests_) {
      ContestSpec whole = contest;
      if (contest.best == 0) curves = contest.spec.curves;
      std::vector<std::string> labels;
      labels.reserve(curves.size());
      for (const Variant& curve : curves) labels.push_back(curve.label);
      whole.spec.curves = curves_of(curves, labels, contest.spec);
      BALLAST_TRY_STATUS(look_at(whole));
      if (contest.best > 0 && contest.best < curves.size()) {
        whole.spec.curves.resize(contest.best);
      }
      BALLAST_TRY(const Spec search, search_spec(whole));
      for (const Spec* spec : {&search, static_cast<const Spec*>(&whole.spec)}) {
        BALLAST_TRY(const Plan plan, experiment::expand(*spec));
        load.updates += load_of(plan).updates;
        load.runs += plan.size();
      }
    }
    options_.on_start(load.updates, load.runs);
    return {};
  }

  Status look_at(const ContestSpec& contest) {
    BALLAST_TRY(const Spec search, search_spec(contest));
    for (const Spec* spec : {&search, &contest.spec}) {
      BALLAST_TRY(const Plan plan, experiment::expand(*spec));
      for (const PlannedRun& planned : plan) BALLAST_TRY_STATUS(materials_.get(planned.run));
    }
    return {};
  }

  // Whether it is complete.
  Result<bool> run_contest(ContestSpec& contest) {
    if (contest.best > 0) {
      const ContestResult& before = result_.contests.back();
      contest.recommended = before.contest.recommended;
      contest.spec.curves = curves_of(before.contest.spec.curves,
                                      best_methods(before.standings, contest.best), contest.spec);
    }
    BALLAST_TRY(const Spec search, search_spec(contest));
    BALLAST_TRY(const auto searched, run_stage(search));
    if (!searched) return false;
    std::vector<std::string> labels;
    for (const Variant& curve : contest.spec.curves) labels.push_back(curve.label);
    BALLAST_TRY(const auto steps,
                find_steps(labels, contest.search.etas, searched->plan, searched->records));
    std::vector<double> etas;
    for (const FoundStep& step : steps) etas.push_back(step.eta);
    BALLAST_TRY(const auto stage, run_stage(with_steps(contest.spec, etas)));
    if (!stage) return false;
    BALLAST_TRY(auto worlds, worlds_of(stage->plan));
    result_.contests.push_back(
        {.contest = contest,
         .worlds = std::move(worlds),
         .steps = steps,
         .standings = make_standings(stage->plan, stage->records, contest.recommended),
         .not_run = not_run(contest.spec)});
    return true;
  }

  struct Stage {
    Plan plan;
    std::vector<records::RunRecord> records;
  };

  // Nothing if it was stopped.
  Result<std::optional<Stage>> run_stage(const Spec& spec) {
    BALLAST_TRY(Plan plan, experiment::expand(spec));
    BALLAST_TRY(auto runs, experiment::run_all(spec, {.folder = options_.folder / spec.name,
                                                      .threads = options_.threads,
                                                      .keeps_models = false,
                                                      .replaces_others = options_.replaces_others,
                                                      .draws = false,
                                                      .materials = &materials_,
                                                      .stop = options_.stop,
                                                      .wall_time = options_.wall_time,
                                                      .on_start =
                                                          [&](std::uint64_t updates, std::size_t) {
                                                            options_.on_stage(
                                                                spec.name,
                                                                load_of(plan).updates - updates);
                                                          },
                                                      .on_progress = options_.on_progress,
                                                      .on_resume = options_.on_resume}));
    if (!runs.is_complete) return std::nullopt;
    if (result_.warning.empty()) result_.warning = std::move(runs.warning);
    return Stage{.plan = std::move(plan), .records = std::move(runs.records)};
  }

  // A page without pictures is better than none.
  void draw() {
    for (ContestResult& contest : result_.contests) {
      for (const HeatMapKind kind : {HeatMapKind::kWorst, HeatMapKind::kWorlds}) {
        const records::HeatMapPicture picture = heat_maps(contest, kind);
        const Status drawn = draw(contest, picture);
        if (!drawn) result_.warning = drawn.error().message;
      }
    }
  }

  Status draw(ContestResult& contest, const records::HeatMapPicture& picture) {
    const auto folder = options_.folder / "images";
    BALLAST_TRY_STATUS(records::draw_heat_maps(folder, picture, options_.painter));
    const auto path = folder / (picture.stem + ".svg");
    BALLAST_TRY(auto svg, files::read_text(path, kPictureBytesMax));
    contest.pictures[picture.stem] = std::move(svg);
    return {};
  }

  Status write_pages() const {
    const records::ReportPage page = make_page(
        result_.contests,
        {.size = options_.size, .command = options_.command, .program = options_.program});
    BALLAST_TRY(const std::string html, records::html_page(page));
    BALLAST_TRY_STATUS(files::write_text(options_.folder / "report.html", html));
    return files::write_text(options_.folder / "arena.md", records::markdown_page(page));
  }

  std::vector<ContestSpec> contests_;
  const ArenaOptions& options_;
  assembly::Materials materials_;
  ArenaResult result_;
};

}  // namespace

Result<ArenaResult> run_arena(std::vector<ContestSpec> contests, const ArenaOptions& options) {
  return Arena(std::move(contests), options).run();
}

}  // namespace ballast::arena
