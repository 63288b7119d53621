// For builds without the room service/.

#include "apps/ballast/commands.h"

namespace ballast::apps {
namespace {

void add_missing(CLI::App& app, Action& action, const char* name) {
  CLI::App* command = app.add_subcommand(name, "not in this build");
  command->allow_extras();
  command->callback([&action] {
    action = [] {
      return Status(unsupported(
          "this build cannot serve; install gRPC, protobuf, OpenSSL, SQLite, xxHash, spdlog and "
          "Boost, then build it again"));
    };
  });
}

}  // namespace

void add_serve_command(CLI::App& app, Action& action) { add_missing(app, action, "serve"); }
void add_work_command(CLI::App& app, Action& action) { add_missing(app, action, "work"); }
void add_cluster_command(CLI::App& app, Action& action) { add_missing(app, action, "cluster"); }
void add_export_command(CLI::App& app, Action& action) { add_missing(app, action, "export"); }
void add_evaluate_command(CLI::App& app, Action& action) { add_missing(app, action, "evaluate"); }
void add_top_command(CLI::App& app, Action& action) { add_missing(app, action, "top"); }
void add_simulate_command(CLI::App& app, Action& action, int& /*failure_code*/) {
  add_missing(app, action, "simulate");
}
void add_bench_serve_command(CLI::App& bench, Action& action) {
  add_missing(bench, action, "serve");
}

}  // namespace ballast::apps
