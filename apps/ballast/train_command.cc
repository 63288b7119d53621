#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/ballast/bench_train.h"
#include "apps/ballast/commands.h"
#include "apps/ballast/interrupt.h"
#include "apps/ballast/progress.h"
#include "apps/ballast/spec_flags.h"
#include "ballast/assembly/keys.h"
#include "ballast/base/parallel.h"
#include "ballast/experiment/figures.h"
#include "ballast/experiment/runner.h"
#include "ballast/records/summary.h"

namespace ballast::apps {
namespace {

namespace fs = std::filesystem;

struct TrainFlags {
  SpecFlags spec;
  std::string folder;
  std::size_t threads = 0;  // as the specification says
  std::string instructions = "best";
  std::string part = "1/1";
  bool replaces_others = false;
  double checkpoint_seconds = 30.0;
  bool explains = false;
  bool as_json = false;
  bool wants_keys = false;
  bool is_demo = false;
};

Result<experiment::Spec> read_spec(const TrainFlags& flags) {
  if (flags.spec.spec.empty() != flags.is_demo) {
    return invalid_argument(
        "name a specification, for example: ballast train spec.toml, or --demo");
  }
  BALLAST_TRY(experiment::Spec spec,
              flags.is_demo ? experiment::demo_spec() : experiment::read_spec(flags.spec.spec));
  BALLAST_TRY_STATUS(apply_settings(spec, flags.spec));
  return spec;
}

Status report(const experiment::RunnerResult& result, const fs::path& folder, bool as_json) {
  if (!result.warning.empty()) print_error(result.warning);
  if (as_json) {
    BALLAST_TRY(const std::string lines, records::summary_lines(result.records));
    return print(lines);
  }
  return print(fmt::format("{}\nresults are in {}\n", records::result_table(result.records),
                           folder.string()));
}

// What the progress line says beside the bar: the newest evaluation of all runs under way.
std::string accuracy_text(const experiment::PlannedRun& run,
                          const records::EvaluationRecord& evaluation) {
  return fmt::format("{:.1f} % at {} of {} seed {}", 100.0 * evaluation.test_accuracy, evaluation.t,
                     run.name, run.seed);
}

Status run_train(const TrainFlags& flags) {
  if (flags.wants_keys) return print(assembly::key_reference());
  if (flags.instructions == "avx2") limit_to_avx2();
  BALLAST_TRY(const experiment::Spec spec, read_spec(flags));
  const fs::path folder =
      flags.folder.empty() ? fs::path("results") / spec.name : fs::path(flags.folder);
  BALLAST_TRY(const experiment::Part part, experiment::parse_part(flags.part));
  std::optional<Progress> progress;
  const experiment::RunnerOptions options{
      .folder = folder,
      .threads = threads_of(flags.threads, spec),
      .part = part,
      .replaces_others = flags.replaces_others,
      .checkpoint_seconds = flags.checkpoint_seconds,
      .explains = flags.explains,
      .stop = &watch_for_interrupt(),
      .wall_time =
          [] {
            const auto now = std::chrono::system_clock::now().time_since_epoch();
            return std::chrono::duration<double>(now).count();
          },
      .on_start =
          [&](std::uint64_t updates, std::size_t found) {
            if (found > 0) {
              fmt::print(stderr, "{} {} done already\n", found, found == 1 ? "run is" : "runs are");
            }
            if (updates > 0) progress.emplace(updates, "updates");
          },
      .on_evaluation =
          [&](const experiment::PlannedRun& run, const records::EvaluationRecord& evaluation) {
            progress->set_text(accuracy_text(run, evaluation));
          },
      .on_progress = [&](std::uint64_t updates) { progress->add(updates); },
      .on_resume = [&](std::uint64_t updates) { progress->resume(updates); }};
  BALLAST_TRY(const auto result, experiment::run_all(spec, options));
  if (progress) progress->finish();
  BALLAST_TRY_STATUS(report(result, folder, flags.as_json));
  if (result.is_complete && !part.is_all() && !flags.as_json) {
    return print(fmt::format(
        "part {} is done; the same command without --part puts them together\n", flags.part));
  }
  if (result.is_complete) return {};
  return interrupted(fmt::format(
      "interrupted; what is done is kept in {}, and the same command goes on from there",
      folder.string()));
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "train as a TOML file describes");
  command->footer(
      "\nTrains once for every combination of the file's [grid], [[curve]] and seeds, several "
      "runs\n"
      "at a time, and writes spec.toml, metrics.csv, summary.json, model.safetensors, curves.png,\n"
      "curves.svg, runs/ and tensorboard/. Ctrl-C keeps what is done; the same command goes on.\n"
      "\n"
      "  ballast train demo.toml --set share=0.3 --set 'rule=ctma(gm, 0.3)' --out results/try\n"
      "  ballast train grid.toml --part 3/16       on each machine of sixteen with a common "
      "folder\n");
  add_spec_flags(*command, flags->spec);
  command->get_option("SPEC")->required(false);  // --demo needs none
  command->add_option("--out", flags->folder, "folder of the results [results/NAME]");
  add_threads_flag(*command, flags->threads, "threads of all runs together");
  add_device_flag(*command, flags->spec);
  command
      ->add_option("--instructions", flags->instructions,
                   "best: all that this machine has; avx2: as if it had no AVX-512")
      ->check(CLI::IsMember({"best", "avx2"}))
      ->capture_default_str();
  command->add_option("--part", flags->part, "3/16: only the third of sixteen parts of the runs");
  command
      ->add_option("--checkpoint-seconds", flags->checkpoint_seconds,
                   "save runs under way so often; 0: never")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_flag("--force", flags->replaces_others,
                    "replace results in that folder that were made with other settings");
  command->add_flag("--why", flags->explains,
                    "record what the rules did with the liars: more columns, and why.png");
  command->add_flag("--json", flags->as_json, "print one JSON object per curve and line");
  command->add_flag("--demo", flags->is_demo, "the built-in demonstration instead of a file");
  command->add_flag("--keys", flags->wants_keys, "print every key of a specification and stop");
  command->callback([flags, &action] { action = [flags] { return run_train(*flags); }; });
}

}  // namespace ballast::apps
