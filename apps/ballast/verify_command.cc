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
#include "ballast/verify/registry.h"
#include "ballast/verify/report.h"

namespace ballast::apps {
namespace {

struct VerifyFlags {
  std::string claim = "all";
  bool is_quick = false;
  std::string folder = "results/verify";
  std::size_t threads = hardware_threads();
  bool as_json = false;
};

Result<std::vector<verify::CheckedClaim>> check(const std::vector<verify::Claim>& claims,
                                                const VerifyFlags& flags) {
  Progress progress(claims.size(), "claims");
  std::size_t begun = 0;
  auto checked = verify::check_claims(
      claims,
      {.is_quick = flags.is_quick, .threads = flags.threads, .stop = &watch_for_interrupt()},
      [&](std::string_view name) {
        if (begun++ > 0) progress.add(1);
        progress.set_text(std::string(name));
      });
  if (checked) progress.add(1);
  return checked;
}

Status run_verify(const VerifyFlags& flags) {
  BALLAST_TRY(const auto claims, verify::find_claims(flags.claim));
  BALLAST_TRY(const auto checked, check(claims, flags));
  BALLAST_TRY(const std::string warning,
              verify::write_report(flags.folder, checked, flags.is_quick));
  if (!warning.empty()) print_error(warning);
  BALLAST_TRY_STATUS(print(
      flags.as_json
          ? verify::claims_json(checked, flags.is_quick)
          : fmt::format("{}\nthe report is in {}\n", verify::claim_table(checked), flags.folder)));
  if (verify::all_hold(checked)) return {};
  return invalid_argument(fmt::format("not all claims hold; see {}/report.html", flags.folder));
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = app.add_subcommand("verify", "check the theory by experiment");
  std::string names;
  for (const verify::Claim& claim : verify::claim_registry()) {
    names += fmt::format("  {:<18}{}\n", claim.name, claim.source);
  }
  command->footer(
      "\nRuns convex problems with known optimum through the server, workers and rules, and "
      "checks\n"
      "each quantitative claim of the paper. Writes claims.json, report.html and the figures.\n"
      "Exit code 0 only if every claim holds. Claims:\n\n" +
      names);
  command->add_option("--claim", flags->claim, "one claim by name, or all")->capture_default_str();
  command->add_flag("--quick", flags->is_quick, "fewer seeds and updates: a minute or two");
  command->add_option("--out", flags->folder, "folder of the results")->capture_default_str();
  command->add_option("--threads", flags->threads, "threads of all runs together")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1024}))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "print claims.json instead of the table");
  command->callback([flags, &action] { action = [flags] { return run_verify(*flags); }; });
}

}  // namespace ballast::apps
