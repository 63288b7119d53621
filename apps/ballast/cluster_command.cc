#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/ballast/commands.h"
#include "apps/ballast/interrupt.h"
#include "apps/ballast/service_flags.h"
#include "apps/ballast/spec_flags.h"
#include "ballast/service/local_cluster.h"

namespace ballast::apps {
namespace {

namespace fs = std::filesystem;

struct ClusterFlags {
  SpecFlags spec;
  std::string folder;
  std::string http;
  std::size_t threads = 1;  // the workers are on this machine, too
  bool as_json = false;
};

std::string summary(const nlohmann::json& result, const fs::path& folder) {
  std::string text = fmt::format("accuracy {:.4f} after {} updates\n\n{:<12} {:>8} {:>8} {:>8}\n",
                                 result["evaluation"]["accuracy"].get<double>(),
                                 result["accepted"].get<std::uint64_t>(), "worker", "updates",
                                 "weight", "trimmed");
  for (const auto& worker : result["workers"]) {
    text += fmt::format("{:<12} {:>8} {:>6.1f} % {:>6.1f} %\n", worker["name"].get<std::string>(),
                        worker["count"].get<std::uint64_t>(),
                        100.0 * worker["weight_share"].get<double>(),
                        100.0 * worker["trimmed_share"].get<double>());
  }
  return text +
         fmt::format("\nmodel, logs, certificates and checkpoints are in {}\n", folder.string());
}

Status run_cluster(const ClusterFlags& flags) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return unsupported("cannot find this program's own file under /proc");
  const fs::path folder =
      flags.folder.empty() ? fs::path("results") / (fs::path(flags.spec.spec).stem() += "-cluster")
                           : fs::path(flags.folder);
  BALLAST_TRY(const std::string text,
              service::run_local_cluster({.program = program,
                                          .spec = flags.spec.spec,
                                          .settings = all_settings(flags.spec),
                                          .folder = folder,
                                          .http = flags.http,
                                          .threads = flags.threads,
                                          .clock = wall_clock,
                                          .events = json_log(),
                                          .stop = &watch_for_interrupt()}));
  if (flags.as_json) return print(text);
  const auto result = nlohmann::json::parse(text, nullptr, false);
  if (result.is_discarded() || result["evaluation"].is_null()) return print(text);
  return print(summary(result, folder));
}

}  // namespace

void add_cluster_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ClusterFlags>();
  CLI::App* command =
      app.add_subcommand("cluster", "try serving: a server and its workers on this machine");
  command->footer(
      "\nStarts a certificate authority, a server and every worker of the specification, honest "
      "and\n"
      "Byzantine, as processes of this machine, waits for the end and prints the accuracy. Ctrl-C\n"
      "ends all of them.\n"
      "\n"
      "  ballast cluster demo.toml --http 127.0.0.1:7001      # then: ballast top "
      "127.0.0.1:7001\n");
  add_spec_flags(*command, flags->spec);
  command->add_option("--out", flags->folder, "new folder for all files [results/NAME-cluster]");
  command->add_option("--http", flags->http, "HOST:PORT for /status, /metrics and the probes");
  add_threads_flag(*command, flags->threads, "threads that aggregate");
  add_device_flag(*command, flags->spec);
  command->add_flag("--json", flags->as_json, "print the result as JSON");
  command->callback([flags, &action] { action = [flags] { return run_cluster(*flags); }; });
}

}  // namespace ballast::apps
