#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/ballast/commands.h"
#include "apps/ballast/interrupt.h"
#include "apps/ballast/service_flags.h"
#include "ballast/files/text_file.h"
#include "ballast/service/serve.h"
#include "ballast/store/failpoint.h"
#include "ballast/transport/process.h"

namespace ballast::apps {
namespace {

struct ServeFlags {
  SpecFlags spec;
  TlsFlags tls;
  std::string denied;
  std::string listen;
  std::vector<std::string> names;
  std::string state;
  std::string resume;
  std::uint64_t checkpoint_updates = 1000;
  double checkpoint_seconds = 60.0;
  double silence_seconds = 300.0;
  std::string http;
  std::string ports_file;
  bool as_json = false;
};

Result<std::optional<service::ServerCredentials>> server_credentials(const ServeFlags& flags) {
  BALLAST_TRY(auto files, credentials_of(flags.tls));
  if (!files) return std::nullopt;
  if (flags.denied.empty()) {
    return invalid_argument(
        "name --denied, the authority's list of revoked certificates; it may be empty");
  }
  return service::ServerCredentials{.files = *std::move(files), .denied = flags.denied};
}

Result<service::ServeOptions> serve_options(const ServeFlags& flags) {
  if (!flags.state.empty() && !flags.resume.empty()) {
    return invalid_argument("--state starts a run and --resume goes on with one; leave out one");
  }
  service::ServeOptions options{
      .listen = flags.listen,
      .names = flags.names,
      .state = flags.resume.empty() ? flags.state : flags.resume,
      .is_resume = !flags.resume.empty(),
      .checkpoints = {.every_updates = flags.checkpoint_updates,
                      .every_seconds = std::chrono::duration<double>(flags.checkpoint_seconds)},
      .http = flags.http,
      .silence_max = std::chrono::duration_cast<server::Instant>(
          std::chrono::duration<double>(flags.silence_seconds)),
      .clock = wall_clock,
      .events = json_log(),
      .on_listening =
          [path = flags.ports_file](service::Ports ports) {
            if (path.empty()) return Status{};
            return files::write_text(path, fmt::format("{} {}\n", ports.server, ports.http));
          },
      .stop = &watch_for_interrupt()};
  BALLAST_TRY(options.credentials, server_credentials(flags));
  return options;
}

std::string summary(const service::Figures& figures) {
  if (!figures.evaluation) return fmt::format("{} updates accepted\n", figures.accepted);
  return fmt::format("accuracy {:.4f} after {} updates\n", figures.evaluation->accuracy,
                     figures.accepted);
}

Status run_serve(const ServeFlags& flags) {
  transport::keep_freed_memory();
  BALLAST_TRY_STATUS(store::set_failpoint_from_environment());
  BALLAST_TRY(const service::ServeOptions options, serve_options(flags));
  BALLAST_TRY(experiment::Spec spec, read_spec(flags.spec));
  BALLAST_TRY(const service::Plan plan, service::make_plan(std::move(spec)));
  BALLAST_TRY(const service::ServeReport report, service::serve(plan, options));
  return print(flags.as_json ? service::status_json(report.figures) : summary(report.figures));
}

void add_state_flags(CLI::App& command, ServeFlags& flags) {
  command.add_option("--state", flags.state, "new folder for checkpoints and journal");
  command.add_option("--resume", flags.resume, "folder of a run to go on with");
  command.add_option("--checkpoint-updates", flags.checkpoint_updates, "save after so many")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  command.add_option("--checkpoint-seconds", flags.checkpoint_seconds, "or after so long")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
}

}  // namespace

void add_serve_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand("serve", "serve a training run to workers on a network");
  command->footer(
      "\nTrains as the specification says with the workers that connect, until `updates` were\n"
      "accepted. SIGTERM and Ctrl-C save first. Events go to standard error as JSON, the result "
      "to\n"
      "standard output. docs/serving.md shows how to set it up.\n"
      "\n"
      "  ballast serve spec.toml --listen 0.0.0.0:7000 --ca ca.crt --cert main.crt \\\n"
      "      --key main.key --denied denied --state state --http 127.0.0.1:7001\n");
  add_spec_flags(*command, flags->spec);
  command->add_option("--listen", flags->listen, "HOST:PORT; port 0 takes a free one")->required();
  add_tls_flags(*command, flags->tls);
  command->add_option("--denied", flags->denied, "list of revoked certificates");
  command->add_option("--worker", flags->names, "name of a worker, once for each [worker-0 ...]")
      ->take_all();
  add_state_flags(*command, *flags);
  command
      ->add_option("--silence-seconds", flags->silence_seconds,
                   "then a silent worker loses its row; 0: never")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--http", flags->http, "HOST:PORT for /status, /metrics and /healthz");
  command->add_option("--ports-file", flags->ports_file, "write 'PORT HTTP-PORT' here once known");
  command->add_flag("--json", flags->as_json, "print the result as JSON");
  command->callback([flags, &action] { action = [flags] { return run_serve(*flags); }; });
}

}  // namespace ballast::apps
