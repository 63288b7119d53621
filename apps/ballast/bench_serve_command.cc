#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/ballast/bench_serve.h"
#include "apps/ballast/commands.h"
#include "apps/ballast/idle_threads.h"
#include "ballast/transport/process.h"

namespace ballast::apps {
namespace {

struct Setting {
  std::size_t dim;
  std::size_t workers;
  std::string rule;
};

struct Flags {
  Setting own{.dim = 0, .workers = 4, .rule = "mean"};  // dim 0: the settings below
  double seconds = 2.0;
  std::size_t threads = 0;
  bool has_bounds = false;
  bool as_json = false;
};

// What one setting gave, in one run.
struct Line {
  ServeBenchResult served, plain;
  std::optional<ServeBenchResult> checked, grpc;
};

// The paper's MNIST model with one worker, its nine and a crowd; a model of ten million values.
std::vector<Setting> settings(const Flags& flags) {
  if (flags.own.dim > 0) return {flags.own};
  return {{66'230, 1, "mean"},
          {66'230, 9, "mean"},
          {66'230, 200, "cwmed"},
          {10'000'000, 1, "mean"},
          {10'000'000, 4, "mean"}};
}

nlohmann::ordered_json to_json(const ServeBenchOptions& options, const Line& line) {
  nlohmann::ordered_json json = {
      {"dim", options.dim},
      {"workers", options.workers},
      {"rule", options.rule},
      {"tls", options.has_tls},
      {"updates_per_second", line.served.updates_per_second},
      {"bytes_per_second", line.served.bytes_per_second},
      {"plain_bytes_per_second", line.plain.bytes_per_second},
      {"ratio", line.served.bytes_per_second / line.plain.bytes_per_second},
      {"server_seconds_per_update", line.served.server_seconds_per_update}};
  if (line.checked) json["checked_bytes_per_second"] = line.checked->bytes_per_second;
  if (line.grpc) json["grpc_bytes_per_second"] = line.grpc->bytes_per_second;
  return json;
}

std::string to_text(const ServeBenchOptions& options, const Line& line) {
  std::string text = fmt::format(
      "{:>10}{:>9}  {:<7}{:<5}{:>11.1f}{:>10.0f}{:>11.0f}{:>8.2f}{:>11.3f}", options.dim,
      options.workers, options.rule, options.has_tls ? "yes" : "no", line.served.updates_per_second,
      line.served.bytes_per_second / 1e6, line.plain.bytes_per_second / 1e6,
      line.served.bytes_per_second / line.plain.bytes_per_second,
      1e3 * line.served.server_seconds_per_update);
  if (line.checked) text += fmt::format("{:>14.0f}", line.checked->bytes_per_second / 1e6);
  if (line.grpc) text += fmt::format("{:>11.0f}", line.grpc->bytes_per_second / 1e6);
  return text + "\n";
}

std::string head(const Flags& flags) {
  std::string text =
      fmt::format("{:>10}{:>9}  {:<7}{:<5}{:>11}{:>10}{:>11}{:>8}{:>11}", "dim", "workers", "rule",
                  "TLS", "updates/s", "MB/s", "plain MB/s", "ratio", "server ms");
  if (flags.has_bounds) text += fmt::format("{:>14}{:>11}", "checked MB/s", "gRPC MB/s");
  return text + "\n";
}

Result<Line> measure(const Flags& flags, const ServeBenchOptions& options) {
  Line line;
  BALLAST_TRY(line.plain, bench_plain_copy(options));
  if (flags.has_bounds) {
    BALLAST_TRY(line.checked, bench_checked_copy(options));
    BALLAST_TRY(line.grpc, bench_grpc_copy(options));
  }
  BALLAST_TRY(line.served, bench_serving(options));
  return line;
}

Status run_bench_serve(const Flags& flags) {
  let_idle_threads_sleep();
  transport::keep_freed_memory();
  if (!flags.as_json) {
    BALLAST_TRY_STATUS(print(head(flags)));
  }
  for (const Setting& setting : settings(flags)) {
    ServeBenchOptions options{.dim = setting.dim,
                              .workers = setting.workers,
                              .rule = setting.rule,
                              .threads = flags.threads,
                              .seconds = flags.seconds};
    for (const bool has_tls : {false, true}) {
      options.has_tls = has_tls;
      BALLAST_TRY(const Line line, measure(flags, options));
      BALLAST_TRY_STATUS(
          print(flags.as_json ? to_json(options, line).dump() + "\n" : to_text(options, line)));
    }
  }
  return {};
}

}  // namespace

void add_bench_serve_command(CLI::App& bench, Action& action) {
  CLI::App* command = bench.add_subcommand("serve", "Measure the network server on this machine");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--dim", flags->own.dim, "Measure this size alone, with the next two");
  command->add_option("--workers", flags->own.workers, "How many workers")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--rule", flags->own.rule, "What the server combines by")
      ->capture_default_str();
  command->add_option("--seconds", flags->seconds, "Of each measurement")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--threads", flags->threads, "On which the server aggregates; 0: as it chooses")
      ->capture_default_str();
  command->add_flag("--bounds", flags->has_bounds, "Measure two more copies, see below");
  command->add_flag("--json", flags->as_json, "One JSON object per line");
  command->footer(
      "A server and workers that compute nothing, over loopback, with and without mutual TLS: "
      "updates\n"
      "per second, and bytes of values both ways. 'plain' is a program that copies the same bytes\n"
      "over TCP, or by OpenSSL over mutual TLS, and does nothing else, in the same run. 'server "
      "ms'\n"
      "is the server's processor time for one update. The server and each worker are processes. "
      "With --bounds, "
      "'checked'\n"
      "is the plain copy in chunks with checksums and a look for values that are not finite, "
      "'gRPC'\n"
      "the copy through gRPC with nothing of ours at either end.");
  command->callback([&action, flags] { action = [flags] { return run_bench_serve(*flags); }; });
}

}  // namespace ballast::apps
