#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/ballast/commands.h"
#include "apps/ballast/interrupt.h"
#include "apps/ballast/progress.h"
#include "ballast/base/parallel.h"
#include "ballast/verify/mutants.h"
#include "ballast/verify/registry.h"
#include "ballast/verify/report.h"

namespace ballast::apps {
namespace {

struct VerifyFlags {
  std::string claim = "all";
  bool is_quick = false;
  bool checks_mutants = false;
  std::string mutant;
  std::string folder = "results/verify";
  std::size_t threads = hardware_threads();
  bool as_json = false;
};

verify::Lab lab_of(const VerifyFlags& flags) {
  return {.is_quick = flags.is_quick || flags.checks_mutants,
          .threads = flags.threads,
          .stop = &watch_for_interrupt()};
}

// Tells the name of each part of the work before its turn.
class Turns {
 public:
  Turns(std::size_t count, const char* unit) : progress_(count, unit) {}

  void begin(std::string_view name) {
    if (begun_++ > 0) progress_.add(1);
    progress_.set_text(std::string(name));
  }
  void end() { progress_.add(1); }

 private:
  Progress progress_;
  std::size_t begun_ = 0;
};

Result<std::vector<verify::CheckedClaim>> check(const std::vector<verify::TheoryClaim>& claims,
                                                const VerifyFlags& flags) {
  verify::Lab lab = lab_of(flags);
  if (!flags.mutant.empty()) {
    BALLAST_TRY(verify::Mutant mutant, verify::find_mutant(flags.mutant));
    lab.components = std::move(mutant.components);
    lab.has_mutant = true;
  }
  Turns turns(claims.size(), "claims");
  auto checked =
      verify::check_claims(claims, lab, [&](std::string_view name) { turns.begin(name); });
  if (checked) turns.end();
  return checked;
}

std::string names_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Status run_claims(const VerifyFlags& flags, int& failure_code) {
  BALLAST_TRY(const auto claims, verify::find_claims(flags.claim));
  BALLAST_TRY(const auto checked, check(claims, flags));
  BALLAST_TRY(const std::string warning,
              verify::write_report(flags.folder, checked, flags.is_quick));
  if (!warning.empty()) print_error(warning);
  BALLAST_TRY_STATUS(print(
      flags.as_json
          ? verify::claims_json(checked, flags.is_quick)
          : fmt::format("{}\nthe report is in {}\n", verify::claim_table(checked), flags.folder)));
  std::vector<std::string> failed;
  for (const auto& [claim, findings] : checked) {
    if (!findings.hold()) failed.emplace_back(claim.name);
  }
  if (failed.empty()) return {};
  failure_code = kExitFailure;
  return invalid_argument(
      fmt::format("not all claims hold: {}; see {}/report.html", names_of(failed), flags.folder));
}

// Of one claim, or of all: the mutants that it must catch.
Result<std::vector<verify::Mutant>> mutants_of(const std::string& claim) {
  BALLAST_TRY([[maybe_unused]] const auto known, verify::find_claims(claim));
  std::vector<verify::Mutant> mutants = verify::all_mutants();
  if (claim == "all") return mutants;
  for (verify::Mutant& mutant : mutants) {
    std::erase_if(mutant.claims, [&](std::string_view name) { return name != claim; });
  }
  std::erase_if(mutants, [](const verify::Mutant& mutant) { return mutant.claims.empty(); });
  return mutants;
}

Status run_mutants(const VerifyFlags& flags, int& failure_code) {
  BALLAST_TRY(const auto mutants, mutants_of(flags.claim));
  Turns turns(mutants.size(), "mutants");
  BALLAST_TRY(const auto verdicts,
              verify::check_mutants(lab_of(flags), mutants,
                                    [&](std::string_view name) { turns.begin(name); }));
  turns.end();
  BALLAST_TRY_STATUS(print(verify::mutant_table(verdicts)));
  std::vector<std::string> wrong;
  for (const verify::MutantVerdict& verdict : verdicts) {
    if (!verdict.violated) wrong.push_back(fmt::format("{} by {}", verdict.name, verdict.claim));
  }
  if (!wrong.empty()) {
    failure_code = kExitFailure;
    return invalid_argument(fmt::format("mutants that were not caught: {}", names_of(wrong)));
  }
  if (flags.claim == "all") wrong = verify::idle_claims(verdicts);
  if (wrong.empty()) return {};
  failure_code = kExitFailure;
  return invalid_argument(fmt::format("claims that catch no mutant: {}", names_of(wrong)));
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action, int& failure_code) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = app.add_subcommand("verify", "check the theory by experiment");
  std::string names;
  for (const verify::TheoryClaim& claim : verify::claim_registry()) {
    names += fmt::format("  {:<18}{}\n", claim.name, claim.source);
  }
  command->footer(
      "\nRuns convex problems with known optimum through the server, workers and rules, and "
      "checks\n"
      "each quantitative claim of the paper. Writes claims.json, report.html and the figures.\n"
      "Exit code: 0 every claim holds, 1 one does not, 2 something is wrong with a flag or a "
      "file.\n"
      "Claims:\n\n" +
      names);
  command->add_option("--claim", flags->claim, "one claim by name, or all")->capture_default_str();
  command->add_flag("--quick", flags->is_quick, "fewer seeds and updates: about a minute");
  auto* mutants = command->add_flag("--mutants", flags->checks_mutants,
                                    "plant each known bug and show which claim catches it; quick");
  command->add_option("--plant", flags->mutant, "plant one bug by its name in that table")
      ->excludes(mutants);
  command->add_option("--out", flags->folder, "folder of the results")->capture_default_str();
  command->add_option("--threads", flags->threads, "threads of all runs together")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "print claims.json instead of the table")
      ->excludes(mutants);
  command->callback([flags, &action, &failure_code] {
    action = [flags, &failure_code] {
      return flags->checks_mutants ? run_mutants(*flags, failure_code)
                                   : run_claims(*flags, failure_code);
    };
  });
}

}  // namespace ballast::apps
