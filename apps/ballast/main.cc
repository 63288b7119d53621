// The program `ballast`: parses the command line, calls one subcommand, prints its error.

#include <fmt/core.h>

#include <exception>

#include "apps/ballast/commands.h"

namespace {

constexpr const char* kDescription =
    "Ballast: robust aggregation for training with workers that lie, break or race ahead.\n"
    "\n"
    "Try:\n"
    "  ballast list                                        every rule, one line each\n"
    "  ballast aggregate --rule 'ctma(gm, 0.4)' \\\n"
    "      --rows rows.npy --weights w.npy --out out.npy   aggregate the rows of a file\n"
    "  ballast bench                                       how fast the rules are here\n";

int run(int argc, char** argv) {
  CLI::App app(kDescription, "ballast");
  app.set_version_flag("--version", "ballast " BALLAST_VERSION);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  ballast::apps::Action action;
  ballast::apps::add_list_command(app, action);
  ballast::apps::add_aggregate_command(app, action);
  ballast::apps::add_bench_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    ballast::apps::print_error(fmt::format("{}; try 'ballast --help'", error.what()));
    return ballast::apps::kExitUsage;
  }
  if (!action) {
    fmt::print("{}", app.help());
    return 0;
  }
  if (const ballast::Status status = action(); !status) {
    ballast::apps::print_error(status.error().message);
    return ballast::apps::kExitUsage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    ballast::apps::print_error(fmt::format("failed: {}", error.what()));
  } catch (...) {
    ballast::apps::print_error("failed for an unknown reason");
  }
  return ballast::apps::kExitFailure;
}
