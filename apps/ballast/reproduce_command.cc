#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/ballast/commands.h"
#include "apps/ballast/commit.h"
#include "apps/ballast/interrupt.h"
#include "apps/ballast/progress.h"
#include "ballast/base/parallel.h"
#include "ballast/experiment/reproduce.h"

namespace ballast::apps {
namespace {

namespace fs = std::filesystem;

struct ReproduceFlags {
  std::string figure = "all";
  bool is_quick = false;
  std::string folder;
  std::size_t threads = hardware_threads();
  std::vector<std::string> settings;
  bool replaces_others = false;
};

Result<std::vector<experiment::PaperFigure>> read_figures(const ReproduceFlags& flags) {
  BALLAST_TRY(auto figures, experiment::paper_figures(flags.figure));
  for (experiment::PaperFigure& figure : figures) {
    if (flags.is_quick) experiment::make_quick(figure.spec);
    for (const std::string& setting : flags.settings) {
      BALLAST_TRY_STATUS(experiment::apply_override(figure.spec, setting));
    }
  }
  return figures;
}

double wall_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string claims_text(const experiment::FigureResult& result) {
  std::string text = result.figure.title + "\n";
  for (const experiment::JudgedClaim& judged : result.claims) {
    text += fmt::format("  {:<12} {:<24}  {}: {}\n", to_text(judged.finding),
                        experiment::difference_text(judged.difference), judged.panel,
                        judged.claim.text);
  }
  return text + "\n";
}

// The command as one would type it again. Where the results go and how many threads make them
// changes nothing in them.
std::string command_text(const ReproduceFlags& flags) {
  std::string text = "ballast reproduce";
  if (flags.figure != "all") text += " --figure " + flags.figure;
  if (flags.is_quick) text += " --quick";
  for (const std::string& setting : flags.settings) text += fmt::format(" --set '{}'", setting);
  return text;
}

Status report(const experiment::ReproduceResult& result, const fs::path& folder) {
  std::string text;
  for (const experiment::FigureResult& figure : result.figures) {
    if (!figure.warning.empty()) {
      print_error(fmt::format("figure {}: {}", figure.figure.number, figure.warning));
    }
    text += claims_text(figure);
  }
  return print(text + fmt::format("the report is {} and {}\n", (folder / "report.html").string(),
                                  (folder / "results.md").string()));
}

Status run_reproduce(const ReproduceFlags& flags) {
  BALLAST_TRY(const auto figures, read_figures(flags));
  const fs::path folder = !flags.folder.empty() ? flags.folder
                          : flags.is_quick      ? "results/quick"
                                                : "results/paper";
  std::optional<Progress> progress;
  BALLAST_TRY(const auto result,
              experiment::reproduce(
                  figures,
                  {.folder = folder,
                   .threads = flags.threads,
                   .is_quick = flags.is_quick,
                   .replaces_others = flags.replaces_others,
                   .command = command_text(flags),
                   .program = program_text(),
                   .stop = &watch_for_interrupt(),
                   .wall_time = wall_time,
                   .on_start = [&](std::uint64_t updates) { progress.emplace(updates, "updates"); },
                   .on_figure =
                       [&](const experiment::PaperFigure& figure, std::uint64_t found) {
                         progress->resume(found);
                         progress->set_text(fmt::format("figure {}", figure.number));
                       },
                   .on_progress = [&](std::uint64_t updates) { progress->add(updates); },
                   .on_resume = [&](std::uint64_t updates) { progress->resume(updates); }}));
  progress->finish();
  if (result.is_complete) return report(result, folder);
  return interrupted(fmt::format(
      "interrupted; what is done is kept in {}, and the same command goes on from there",
      folder.string()));
}

}  // namespace

void add_reproduce_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ReproduceFlags>();
  CLI::App* command = app.add_subcommand("reproduce", "run the paper's experiments again");
  command->footer(
      "\nRuns figures 2 to 7 of \"Weight for Robustness\" (2 to 4 on CIFAR-10, 5 to 7 on MNIST),\n"
      "at the shares that the paper states and at those that its published code ran. Writes a\n"
      "folder figN for each, claims.json, report.html and results.md. Ctrl-C keeps what is done;\n"
      "the same command goes on. The data sets come first: ballast data get all.\n"
      "\n"
      "  ballast reproduce --quick              all six figures, shortened\n"
      "  ballast reproduce --figure 6           one figure in full\n");
  command->add_option("--figure", flags->figure, "which figures: some of 2 to 7, as in 5,6, or all")
      ->capture_default_str();
  command->add_flag("--quick", flags->is_quick, "one seed and fewer updates");
  command->add_option("--out", flags->folder,
                      "folder of the results [results/paper, with --quick results/quick]");
  command->add_option("--threads", flags->threads, "threads of all runs together")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}))
      ->capture_default_str();
  command->add_option("--set", flags->settings, "KEY=VALUE, in place of what the figures say")
      ->take_all();
  command->add_flag("--force", flags->replaces_others,
                    "replace results in that folder that were made with other settings");
  command->callback([flags, &action] { action = [flags] { return run_reproduce(*flags); }; });
}

}  // namespace ballast::apps
