#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "apps/ballast/commands.h"
#include "apps/ballast/interrupt.h"
#include "apps/ballast/service_flags.h"
#include "apps/ballast/spec_flags.h"
#include "ballast/service/credentials.h"
#include "ballast/service/work.h"
#include "ballast/transport/process.h"

namespace ballast::apps {
namespace {

struct WorkFlags {
  SpecFlags spec;
  TlsFlags tls;
  std::string server;
  std::string name;
  std::optional<std::uint32_t> number;
  std::string attack;
  std::optional<std::uint64_t> updates_max;
  bool is_bfloat16 = false;
  bool rejoins = false;
  std::uint32_t pause_ms = 0;
  double patience_seconds = 300.0;
  double report_seconds = 0.0;
  bool as_json = false;
};

std::string summary(const service::WorkReport& report) {
  return fmt::format("{}{} of {} updates accepted\n",
                     report.is_over ? "the training is over; " : "", report.accepted, report.sent);
}

std::string json(const service::WorkReport& report) {
  const nlohmann::ordered_json json = {{"sent", report.sent},
                                       {"accepted", report.accepted},
                                       {"lost", report.lost},
                                       {"reconnects", report.reconnects},
                                       {"over", report.is_over}};
  return json.dump() + "\n";
}

Status run_work(const WorkFlags& flags) {
  transport::keep_freed_memory();
  service::WorkOptions options{
      .server = flags.server,
      .name = flags.name,
      .attack = flags.attack,
      .updates_max = flags.updates_max,
      .encoding = flags.is_bfloat16 ? wire::Encoding::kBfloat16 : wire::Encoding::kFloat32,
      .rejoins = flags.rejoins,
      .pause = std::chrono::milliseconds(flags.pause_ms),
      .patience = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::duration<double>(flags.patience_seconds)),
      .report_every = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::duration<double>(flags.report_seconds)),
      .clock = wall_clock,
      .events = json_log(),
      .stop = &watch_for_interrupt()};
  BALLAST_TRY(options.credentials, credentials_of(flags.tls));
  if (options.credentials) {
    BALLAST_TRY_STATUS(service::check_credentials(*options.credentials, flags.name, wall_clock()));
  }
  BALLAST_TRY(options.number,
              flags.number ? Result<std::uint32_t>(*flags.number) : service::number_in(flags.name));
  BALLAST_TRY(experiment::Spec spec, read_spec(flags.spec));
  BALLAST_TRY(const service::Plan plan, service::make_plan(std::move(spec)));
  BALLAST_TRY(const service::WorkReport report, service::work(plan, options));
  return print(flags.as_json ? json(report) : summary(report));
}

}  // namespace

void add_work_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<WorkFlags>();
  CLI::App* command = app.add_subcommand("work", "compute updates for a server");
  command->footer(
      "\nTrains with the model and the data of the specification, which must be the server's, "
      "until\n"
      "it gets SIGTERM or Ctrl-C; then it says good-bye. A server that is away is tried again and\n"
      "again, with pauses, for as long as --patience-seconds.\n"
      "\n"
      "  ballast work spec.toml --server train.example.org:7000 --name worker-3 --ca ca.crt \\\n"
      "      --cert worker-3.crt --key worker-3.key\n");
  add_spec_flags(*command, flags->spec);
  command->add_option("--server", flags->server, "HOST:PORT")->required();
  command->add_option("--name", flags->name, "as enrolled, and as in the certificate")->required();
  command->add_option("--number", flags->number,
                      "place among the workers [the number that ends the name]");
  add_tls_flags(*command, flags->tls);
  command->add_option("--attack", flags->attack, "lie, to test a server ('ballast list')");
  command->add_flag("--bfloat16", flags->is_bfloat16,
                    "send and get values rounded to 8 bits of precision: half the bytes");
  command->add_flag("--rejoin", flags->rejoins,
                    "forget everything and join anew before each update, to test a server");
  command->add_option("--updates", flags->updates_max, "leave after so many");
  command
      ->add_option("--pause-ms", flags->pause_ms, "wait so long before each update, to try things")
      ->check(CLI::Range(0u, 3'600'000u))
      ->capture_default_str();
  command->add_option("--patience-seconds", flags->patience_seconds, "with a server that is away")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command
      ->add_option("--report-seconds", flags->report_seconds,
                   "log the round trips (p50, p99, longest) this often; 0: never")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "print the result as JSON");
  command->callback([flags, &action] { action = [flags] { return run_work(*flags); }; });
}

}  // namespace ballast::apps
