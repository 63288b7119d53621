#include "apps/ballast/commands.h"

namespace ballast::apps {

void add_ca_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("ca", "Certificates (not in this build: no OpenSSL)");
  command->allow_extras();
  command->callback([&action] {
    action = []() -> Status {
      return unsupported("this build has no certificates; build it with OpenSSL (libssl-dev)");
    };
  });
}

}  // namespace ballast::apps
