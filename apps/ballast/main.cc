// The program `ballast`: parses the command line, calls one subcommand, prints its error.

#include <fmt/core.h>

#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/ballast/commands.h"
#include "ballast/base/nearest_word.h"

namespace {

constexpr const char* kDescription =
    "Ballast: training with workers that lie, break or race ahead.\n"
    "\n"
    "Try:\n"
    "  ballast train --demo                                six rules against a fast liar\n"
    "  ballast train spec.toml --out results/first         what your file describes\n"
    "  ballast reproduce --quick                           the figures of the paper\n"
    "  ballast verify --quick                              its theorems, by experiment\n"
    "  ballast aggregate --rule 'ctma(gm, 0.4)' \\\n"
    "      --rows rows.npy --weights w.npy --out out.npy   aggregate the rows of a file\n"
    "  ballast list                                        rules, attacks, weights, models, ...\n"
    "  ballast bench                                       how fast the rules are here\n"
    "  ballast data get mnist                              bring a data set to this machine\n"
    "  ballast ca init; ballast ca issue worker-1          certificates for servers and workers\n"
    "  ballast cluster spec.toml                           a server and workers on this machine\n"
    "  ballast inspect DIR                                 what a checkpoint folder holds\n"
    "  ballast export DIR; ballast evaluate MODEL SPEC     its model, and how good it is\n"
    "\n"
    "'ballast COMMAND --help' explains one command. Exit code: 0 done, 2 something is wrong with "
    "a\n"
    "flag or a file, 1 the program itself failed or a claim does not hold.\n";

int exit_code(const ballast::Status& status, int failure_code = ballast::apps::kExitUsage) {
  if (status) return 0;
  ballast::apps::print_error(status.error().message);
  return status.error().code == ballast::ErrorCode::kInterrupted ? ballast::apps::kExitInterrupted
                                                                 : failure_code;
}

std::string help_command(const CLI::App& app) {
  std::string text;
  const CLI::App* named = &app;
  while (true) {
    text += named->get_name() + " ";
    const auto commands = named->get_subcommands();
    if (commands.empty()) return text + "--help";
    named = commands[0];
  }
}

// ", did you mean 'train'?" where the first word is nearly a command.
std::string suggestion(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || !app.get_subcommands().empty()) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto nearest = ballast::nearest_word(argv[1], known);
  return nearest ? fmt::format(", did you mean '{}'?", *nearest) : "";
}

int run(int argc, char** argv) {
  CLI::App app(kDescription, "ballast");
  app.set_version_flag("--version", "ballast " BALLAST_VERSION);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  ballast::apps::Action action;
  int failure_code = ballast::apps::kExitUsage;
  ballast::apps::add_list_command(app, action);
  ballast::apps::add_aggregate_command(app, action);
  ballast::apps::add_bench_command(app, action);
  ballast::apps::add_train_command(app, action);
  ballast::apps::add_reproduce_command(app, action);
  ballast::apps::add_arena_command(app, action);
  ballast::apps::add_serve_command(app, action);
  ballast::apps::add_work_command(app, action);
  ballast::apps::add_cluster_command(app, action);
  ballast::apps::add_top_command(app, action);
  ballast::apps::add_export_command(app, action);
  ballast::apps::add_evaluate_command(app, action);
  ballast::apps::add_data_command(app, action);
  ballast::apps::add_ca_command(app, action);
  ballast::apps::add_inspect_command(app, action);
  ballast::apps::add_verify_command(app, action, failure_code);
  ballast::apps::add_simulate_command(app, action, failure_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // for help or the version
    std::ostringstream text;
    app.exit(asked, text, text);
    return exit_code(ballast::apps::print(text.str()));
  } catch (const CLI::ParseError& error) {
    ballast::apps::print_error(fmt::format("{}{}; try '{}'", error.what(),
                                           suggestion(app, argc, argv), help_command(app)));
    return ballast::apps::kExitUsage;
  }
  const ballast::Status status = action ? action() : ballast::apps::print(app.help());
  return exit_code(status, failure_code);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    ballast::apps::print_error("not enough memory; use fewer rows or values, or a larger machine");
  } catch (const std::exception& error) {
    ballast::apps::print_error(fmt::format("failed: {}", error.what()));
  } catch (...) {
    ballast::apps::print_error("failed for an unknown reason");
  }
  return ballast::apps::kExitFailure;
}
