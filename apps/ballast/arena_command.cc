#include <fmt/core.h>

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
#include "ballast/arena/arena.h"
#include "ballast/base/parallel.h"
#include "ballast/files/text_file.h"

namespace ballast::apps {
namespace {

namespace fs = std::filesystem;

// A specification is written by hand; a larger text is some other file.
constexpr std::size_t kContestBytesMax = std::size_t{1} << 20;
constexpr std::string_view kQuickSize = "quick";

struct ArenaFlags {
  std::vector<std::string> files;
  bool is_quick = false;
  std::string size = std::string(arena::kFullSize);
  std::string folder;
  std::size_t threads = hardware_threads();
  std::vector<std::string> settings;
  bool replaces_others = false;

  std::string chosen_size() const { return is_quick ? std::string(kQuickSize) : size; }
};

Result<std::vector<arena::ContestSpec>> read_files(const std::vector<std::string>& files) {
  std::vector<arena::ContestSpec> contests;
  for (const std::string& file : files) {
    BALLAST_TRY(const std::string text, files::read_text(file, kContestBytesMax));
    const arena::ContestSpec* const before = contests.empty() ? nullptr : &contests.back();
    BALLAST_TRY(arena::ContestSpec contest, arena::parse_contest(text, file, before));
    contests.push_back(std::move(contest));
  }
  return contests;
}

Result<std::vector<arena::ContestSpec>> read_contests(const ArenaFlags& flags) {
  BALLAST_TRY(auto contests,
              flags.files.empty() ? arena::carried_contests() : read_files(flags.files));
  if (contests.front().best > 0) {
    return invalid_argument(fmt::format(
        "{}: takes the best of the contest before, and none is before it", flags.files.front()));
  }
  for (arena::ContestSpec& contest : contests) {
    BALLAST_TRY(contest, arena::at_size(std::move(contest), flags.chosen_size()));
    for (const std::string& setting : flags.settings) {
      BALLAST_TRY_STATUS(experiment::apply_override(contest.spec, setting));
    }
  }
  return contests;
}

double seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// The command as one would type it again.
std::string typed(const ArenaFlags& flags) {
  std::string text = "ballast arena";
  for (const std::string& file : flags.files) text += " " + file;
  if (flags.is_quick) text += " --quick";
  if (!flags.is_quick && flags.size != arena::kFullSize) text += " --size " + flags.size;
  for (const std::string& setting : flags.settings) text += fmt::format(" --set '{}'", setting);
  return text;
}

std::string standings_text(const arena::ContestResult& result) {
  std::string text =
      fmt::format("{:<32} {:>6} {:>6}  worst in\n", result.contest.title, "mean", "worst");
  const arena::Standings& standings = result.standings;
  for (const arena::MethodStanding& standing : standings.methods) {
    text += fmt::format("  {:<30} {:>6.1f} {:>6.1f}  {}, {}\n", standing.method, standing.mean,
                        standing.worst,
                        standings.attacks[standing.worst_cell % standings.attacks.size()],
                        standings.worlds[standing.worst_cell / standings.attacks.size()]);
  }
  return text + "\n";
}

Status tell(const arena::ArenaResult& result, const fs::path& folder) {
  if (!result.warning.empty()) print_error(result.warning);
  std::string text;
  for (const arena::ContestResult& contest : result.contests) text += standings_text(contest);
  return print(text + fmt::format("the page is {} and {}\n", (folder / "arena.md").string(),
                                  (folder / "report.html").string()));
}

Status run_arena_command(const ArenaFlags& flags) {
  BALLAST_TRY(auto contests, read_contests(flags));
  const std::string size = flags.chosen_size();
  const fs::path folder = !flags.folder.empty()      ? fs::path(flags.folder)
                          : size == arena::kFullSize ? fs::path("results/arena")
                                                     : fs::path("results") / ("arena-" + size);
  std::optional<Progress> progress;
  BALLAST_TRY(
      const auto result,
      arena::run_arena(std::move(contests),
                       {.folder = folder,
                        .threads = flags.threads,
                        .size = size,
                        .replaces_others = flags.replaces_others,
                        .command = typed(flags),
                        .program = program_text(),
                        .stop = &watch_for_interrupt(),
                        .wall_time = seconds_since_1970,
                        .on_start =
                            [&](std::uint64_t updates, std::size_t runs) {
                              fmt::print(stderr, "{} runs, {} updates\n", runs, updates);
                              progress.emplace(updates, "updates");
                            },
                        .on_stage =
                            [&](const std::string& stage, std::uint64_t found) {
                              progress->resume(found);
                              progress->set_text(stage);
                            },
                        .on_progress = [&](std::uint64_t updates) { progress->add(updates); },
                        .on_resume = [&](std::uint64_t updates) { progress->resume(updates); }}));
  progress->finish();
  if (result.is_complete) return tell(result, folder);
  return interrupted(fmt::format(
      "interrupted; what is done is kept in {}, and the same command goes on from there",
      folder.string()));
}

}  // namespace

void add_arena_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ArenaFlags>();
  CLI::App* command = app.add_subcommand("arena", "every method under every attack, one page");
  command->footer(
      "\nRuns all methods under all attacks in several worlds on MNIST, each with the step size\n"
      "that did best on a part of the training set, and the best of them under attacks that try\n"
      "out what harms most, and on CIFAR-10. Writes arena.md, report.html, images/ and the runs.\n"
      "Ctrl-C keeps what is done; the same command goes on. The data sets come first: ballast\n"
      "data get all.\n"
      "\n"
      "  ballast arena --quick                  minutes on two cores\n"
      "  ballast arena --size medium            seven attacks, three worlds\n"
      "  ballast arena own.toml                 a contest of one's own (docs/arena.md)\n");
  command->add_option("CONTEST", flags->files, "TOML files in place of the built-in contests");
  auto* quick = command->add_flag("--quick", flags->is_quick, "the same as --size quick");
  command->add_option("--size", flags->size, "one of the sizes that the contests have, or full")
      ->capture_default_str()
      ->excludes(quick);
  command->add_option("--out", flags->folder,
                      "folder of the results [results/arena, results/arena-SIZE]");
  command->add_option("--threads", flags->threads, "threads of all runs together")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}))
      ->capture_default_str();
  command->add_option("--set", flags->settings, "KEY=VALUE, in place of what the contests say")
      ->take_all();
  command->add_flag("--force", flags->replaces_others,
                    "replace results in that folder that were made with other settings");
  command->callback([flags, &action] { action = [flags] { return run_arena_command(*flags); }; });
}

}  // namespace ballast::apps
