#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/ballast/commands.h"
#include "apps/ballast/idle_threads.h"
#include "apps/ballast/interrupt.h"
#include "apps/ballast/service_flags.h"
#include "apps/ballast/spec_flags.h"
#include "ballast/base/parallel.h"
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
  std::string workers_file;
  std::size_t workers_max = 0;
  std::string state;
  std::string resume;
  std::uint64_t checkpoint_updates = 1000;
  double checkpoint_seconds = 60.0;
  std::uint64_t unsaved_max = 0;
  std::size_t workers_min = 0;
  std::string model_out;
  std::uint64_t model_every = 0;
  std::size_t threads = 0;  // as the specification says
  double linger_seconds = 5.0;
  double silence_seconds = 300.0;
  std::string http;
  std::vector<std::string> http_hosts;
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
  if (!flags.names.empty() && !flags.workers_file.empty()) {
    return invalid_argument("name the workers with --worker or with --workers-file, not with both");
  }
  service::ServeOptions options{
      .listen = flags.listen,
      .names = flags.names,
      .workers_file = flags.workers_file,
      .places = flags.workers_max,
      .state = flags.resume.empty() ? flags.state : flags.resume,
      .is_resume = !flags.resume.empty(),
      .workers_min = flags.workers_min,
      .checkpoints = {.every_updates = flags.checkpoint_updates,
                      .every_seconds = std::chrono::duration<double>(flags.checkpoint_seconds)},
      .unsaved_max = flags.unsaved_max,
      .model_every = flags.model_every,
      .http = flags.http,
      .http_hosts = flags.http_hosts,
      .silence_max = std::chrono::duration_cast<server::Instant>(
          std::chrono::duration<double>(flags.silence_seconds)),
      .linger = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::duration<double>(flags.linger_seconds)),
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

// Where the model goes: to the place that was named, or beside the checkpoints, or where `train`
// and `cluster` leave theirs. There it may be somebody's only copy, so it is not replaced.
Result<std::filesystem::path> model_path(const ServeFlags& flags, const std::string& run) {
  namespace fs = std::filesystem;
  if (!flags.model_out.empty()) return fs::path(flags.model_out);
  const std::string& state = flags.resume.empty() ? flags.state : flags.resume;
  if (!state.empty()) return fs::path(state) / "model.safetensors";
  const fs::path path = fs::path("results") / (run + "-serve") / "model.safetensors";
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    return invalid_argument(
        fmt::format("{} is there from an earlier run; name a place with --model-out or --state",
                    path.string()));
  }
  return path;
}

Status make_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  return parent.empty() ? Status() : files::make_folder(parent);
}

std::string summary(const service::ServeReport& report, const std::filesystem::path& model) {
  const service::ServerStatus& status = report.status;
  std::string text = status.evaluation ? fmt::format("accuracy {:.4f} after {} updates\n",
                                                     status.evaluation->accuracy, status.accepted)
                                       : fmt::format("{} updates accepted\n", status.accepted);
  if (report.was_complete) {
    text = fmt::format(
               "the run was complete already ({} of {} updates); train on with --set "
               "updates=N\n",
               status.accepted, status.updates) +
           text;
  }
  return text + fmt::format("the model is in {}\n", model.string());
}

Status run_serve(const ServeFlags& flags) {
  let_idle_threads_sleep();
  transport::keep_freed_memory();
  BALLAST_TRY_STATUS(store::set_failpoint_from_environment());
  BALLAST_TRY(service::ServeOptions options, serve_options(flags));
  if (options.credentials) {
    BALLAST_TRY_STATUS(service::check_credentials(*options.credentials, wall_clock()));
  }
  BALLAST_TRY(experiment::Spec spec, read_spec(flags.spec));
  options.threads = flags.threads > 0 ? flags.threads : spec.threads;
  BALLAST_TRY(const service::Plan plan, service::make_plan(std::move(spec)));
  BALLAST_TRY(options.model_out, model_path(flags, plan.planned.name));
  if (flags.state.empty()) BALLAST_TRY_STATUS(make_folder_of(options.model_out));
  BALLAST_TRY(const service::ServeReport report, service::serve(plan, options));
  return print(flags.as_json ? service::status_json(report.status)
                             : summary(report, options.model_out));
}

void add_model_flags(CLI::App& command, ServeFlags& flags) {
  command.add_option("--model-out", flags.model_out,
                     "file for the model [model.safetensors in the state folder, or in "
                     "results/NAME-serve]");
  command
      .add_option("--model-every", flags.model_every,
                  "write it after so many updates as well; 0: at the end only")
      ->capture_default_str();
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
  command
      .add_option("--unsaved-updates-max", flags.unsaved_max,
                  "acknowledge no more while so many are in no checkpoint; 0: twice "
                  "--checkpoint-updates")
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
  command->add_option("--workers-file", flags->workers_file,
                      "instead: a name per line; who is added while it runs takes part");
  command->add_option("--max-workers", flags->workers_max,
                      "places for workers, also for those to be added [as many as there are; two "
                      "more with --workers-file]");
  command->add_option("--min-workers", flags->workers_min,
                      "take no step before so many have sent [what the weights need]");
  add_state_flags(*command, *flags);
  add_model_flags(*command, *flags);
  add_threads_flag(*command, flags->threads,
                   "threads that aggregate; none given: as many as have work");
  add_device_flag(*command, flags->spec);
  command
      ->add_option("--silence-seconds", flags->silence_seconds,
                   "then a silent worker loses its row; 0: never")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--linger-seconds", flags->linger_seconds,
                   "after the last update, time to tell late workers that it is over")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--http", flags->http, "HOST:PORT for /status, /metrics and the probes");
  command->add_option("--http-host", flags->http_hosts, "name under which it may be asked")
      ->take_all();
  command->add_option("--ports-file", flags->ports_file, "write 'PORT HTTP-PORT' here once known");
  command->add_flag("--json", flags->as_json, "print the result as JSON");
  command->callback([flags, &action] { action = [flags] { return run_serve(*flags); }; });
}

}  // namespace ballast::apps
