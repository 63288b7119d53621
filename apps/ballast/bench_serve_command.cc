#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
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
  bool as_json = false;
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

Status print_result(const Flags& flags, const ServeBenchOptions& options,
                    const ServeBenchResult& served, const ServeBenchResult& plain) {
  const double ratio = served.bytes_per_second / plain.bytes_per_second;
  if (flags.as_json) {
    const nlohmann::ordered_json line = {
        {"dim", options.dim},
        {"workers", options.workers},
        {"rule", options.rule},
        {"tls", options.has_tls},
        {"updates_per_second", served.updates_per_second},
        {"bytes_per_second", served.bytes_per_second},
        {"plain_bytes_per_second", plain.bytes_per_second},
        {"ratio", ratio},
        {"server_seconds_per_update", served.server_seconds_per_update}};
    return print(line.dump() + "\n");
  }
  return print(fmt::format("{:>10}{:>9}  {:<7}{:<5}{:>11.1f}{:>10.0f}{:>11.0f}{:>8.2f}{:>11.3f}\n",
                           options.dim, options.workers, options.rule,
                           options.has_tls ? "yes" : "no", served.updates_per_second,
                           served.bytes_per_second / 1e6, plain.bytes_per_second / 1e6, ratio,
                           1e3 * served.server_seconds_per_update));
}

Status run_bench_serve(const Flags& flags) {
  let_idle_threads_sleep();
  transport::keep_freed_memory();
  if (!flags.as_json) {
    BALLAST_TRY_STATUS(print(fmt::format("{:>10}{:>9}  {:<7}{:<5}{:>11}{:>10}{:>11}{:>8}{:>11}\n",
                                         "dim", "workers", "rule", "TLS", "updates/s", "MB/s",
                                         "plain MB/s", "ratio", "server ms")));
  }
  for (const Setting& setting : settings(flags)) {
    ServeBenchOptions options{.dim = setting.dim,
                              .workers = setting.workers,
                              .rule = setting.rule,
                              .threads = flags.threads,
                              .seconds = flags.seconds};
    for (const bool has_tls : {false, true}) {
      options.has_tls = has_tls;
      BALLAST_TRY(const ServeBenchResult plain, bench_plain_copy(options));
      BALLAST_TRY(const ServeBenchResult served, bench_serving(options));
      BALLAST_TRY_STATUS(print_result(flags, options, served, plain));
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
  command->add_option("--threads", flags->threads, "On which the server aggregates; 0: all")
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "One JSON object per line");
  command->footer(
      "A server and workers that compute nothing, over loopback, with and without mutual TLS: "
      "updates\n"
      "per second, and bytes of values both ways. 'plain' is a program that copies the same bytes\n"
      "over TCP, or by OpenSSL over mutual TLS, and does nothing else, in the same run. 'server "
      "ms'\n"
      "is the server's processor time for one update. The server and each worker are processes.");
  command->callback([&action, flags] { action = [flags] { return run_bench_serve(*flags); }; });
}

}  // namespace ballast::apps
