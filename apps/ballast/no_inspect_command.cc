// For builds without the room store/.

#include "apps/ballast/commands.h"

namespace ballast::apps {

void add_inspect_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("inspect", "Show what a checkpoint folder holds");
  command->allow_extras();
  command->callback([&action] {
    action = [] {
      return Status(unsupported(
          "this build has no checkpoints; install SQLite and xxHash, then build it again"));
    };
  });
}

}  // namespace ballast::apps
