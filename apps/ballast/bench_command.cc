#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/ballast/bench.h"
#include "apps/ballast/bench_sweep.h"
#include "apps/ballast/bench_train.h"
#include "apps/ballast/commands.h"
#include "ballast/kernels/backend.h"
#include "ballast/kernels/peak.h"
#include "ballast/robust/registry.h"

namespace ballast::apps {
namespace {

constexpr const char* kDefaultRules =
    "mean, cwmed, gm, ctma(gm, 0.4), ctma(cwmed, 0.4), cwtm(0.2), krum(0.2), nnm(gm, 0.2)";

constexpr const char* kSweepRules = "mean, cwmed, ctma(gm, 0.4)";

struct BenchFlags {
  BenchSize size;
  std::string rules = kDefaultRules;
  std::string instructions = "best";
  bool as_json = false;
  bool is_sweep = false;
  SweepSize sweep;
};

// Splits at the commas outside parentheses.
std::vector<std::string> split_rules(const std::string& text) {
  std::vector<std::string> rules(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) {
      rules.emplace_back();
    } else if (c != ' ' || !rules.back().empty()) {
      rules.back() += c;
    }
  }
  return rules;
}

// The rules in their canonical form, every one checked before the first is measured.
Result<std::vector<std::string>> checked_rules(const BenchFlags& flags) {
  std::vector<std::string> rules = split_rules(flags.rules);
  for (std::string& text : rules) {
    BALLAST_TRY(const robust::RulePointer rule, robust::parse_rule(text));
    BALLAST_TRY_STATUS(rule->check_row_count(flags.size.rows));
    text = rule->text();
  }
  return rules;
}

nlohmann::ordered_json as_json(const std::string& rule, BenchMode mode, const BenchSize& size,
                               const BenchResult& result) {
  return {{"rule", rule},         {"mode", to_string(mode)},       {"rows", size.rows},
          {"dim", size.dim},      {"device", size.device},         {"threads", size.threads},
          {"ms", result.call_ms}, {"stream_ms", result.stream_ms}, {"ratio", result.ratio()}};
}

std::string describe_json(const std::string& rule, BenchMode mode, const BenchSize& size,
                          const BenchResult& result) {
  return as_json(rule, mode, size, result).dump() + "\n";
}

std::string describe(const std::string& rule, std::size_t rule_width, BenchMode mode,
                     const BenchResult& result) {
  return fmt::format("{:<{}}  {:<9}{:>9.3f}{:>11.3f}{:>8.2f}\n", rule, rule_width, to_string(mode),
                     result.call_ms, result.stream_ms, result.ratio());
}

std::string table_head(const BenchSize& size, std::size_t rule_width) {
  const std::string where =
      size.device == "cpu" ? fmt::format("{} thread{}", size.threads, size.threads == 1 ? "" : "s")
                           : fmt::format("device {}", size.device);
  return fmt::format(
      "{} rows x {} values, {}; ratio = ms / one streaming read of the table\n\n"
      "{:<{}}  {:<9}{:>9}{:>11}{:>8}\n",
      size.rows, size.dim, where, "rule", rule_width, "mode", "ms", "stream ms", "ratio");
}

// What the rules that need inner products are made of, against the processor's peak.
Status print_products(const BenchFlags& flags) {
  const ProductsResult products = bench_products(flags.size);
  const double rate = 1e-9 * products.rate, peak = 1e-9 * products.peak;
  if (!flags.as_json) {
    return print(fmt::format(
        "\nall inner products: {:.3f} ms, {:.1f} of {:.1f} GFMA/s in double precision, {:.0f} %\n",
        products.ms, rate, peak, 100.0 * products.share()));
  }
  const nlohmann::ordered_json line = {{"measure", "inner products"},
                                       {"rows", flags.size.rows},
                                       {"dim", flags.size.dim},
                                       {"threads", flags.size.threads},
                                       {"instructions", flags.instructions},
                                       {"ms", products.ms},
                                       {"gfma_per_second", rate},
                                       {"peak_gfma_per_second", peak},
                                       {"share", products.share()}};
  return print(line.dump() + "\n");
}

Status run_rules(const BenchFlags& flags) {
  BALLAST_TRY(const std::vector<std::string> rules, checked_rules(flags));
  BALLAST_TRY_STATUS(kernels::make_backend(flags.size.device, flags.size.threads));
  const std::size_t width = std::ranges::max(rules, {}, &std::string::size).size();
  if (!flags.as_json) BALLAST_TRY_STATUS(print(table_head(flags.size, width)));
  for (const std::string& rule : rules) {
    for (const BenchMode mode : kBenchModes) {
      BALLAST_TRY(const BenchResult result, bench_rule(rule, mode, flags.size));
      BALLAST_TRY_STATUS(print(flags.as_json ? describe_json(rule, mode, flags.size, result)
                                             : describe(rule, width, mode, result)));
    }
  }
  return flags.size.device == "cpu" ? print_products(flags) : Status{};
}

Status run_point(const BenchFlags& flags, const std::string& rule, const SweepPoint& point,
                 double peak) {
  BALLAST_TRY(const bool is_by_products, needs_products(rule, point.size.rows));
  for (const BenchMode mode : {BenchMode::kFull, BenchMode::kNoisy}) {
    BALLAST_TRY(const BenchResult result, bench_rule(rule, mode, point.size, kQuickEffort));
    const double limit = limit_ms(is_by_products, mode, point.size, result.stream_ms, peak);
    if (flags.as_json) {
      nlohmann::ordered_json line = as_json(rule, mode, point.size, result);
      line["sweep"] = point.axis;
      line["limit_ms"] = limit;
      BALLAST_TRY_STATUS(print(line.dump() + "\n"));
    } else {
      BALLAST_TRY_STATUS(
          print(fmt::format("{:<18}{:<7}{:<7}{:>6}{:>10}{:>12.3f}{:>11.3f}{:>11.3f}{:>8.2f}\n",
                            rule, to_string(mode), point.axis, point.size.rows, point.size.dim,
                            result.call_ms, result.stream_ms, limit, result.call_ms / limit)));
    }
  }
  return {};
}

Status run_sweep(const BenchFlags& flags) {
  BALLAST_TRY(const std::vector<std::string> rules, checked_rules(flags));
  const double peak = kernels::measure_peak(flags.sweep.threads);
  if (!flags.as_json) {
    BALLAST_TRY_STATUS(print(
        fmt::format("limit = one read of the table, or all inner products at {:.1f} GFMA/s\n\n"
                    "{:<18}{:<7}{:<7}{:>6}{:>10}{:>12}{:>11}{:>11}{:>8}\n",
                    1e-9 * peak, "rule", "mode", "grows", "rows", "values", "ms", "stream ms",
                    "limit ms", "ratio")));
  }
  for (const SweepPoint& point : sweep_points(flags.sweep)) {
    for (const std::string& rule : rules) {
      BALLAST_TRY_STATUS(run_point(flags, rule, point, peak));
    }
  }
  return {};
}

Status run_bench(BenchFlags& flags, const CLI::App& command) {
  if (flags.instructions == "avx2") limit_to_avx2();
  if (!flags.is_sweep) return run_rules(flags);
  if (flags.size.device != "cpu") return invalid_argument("--sweep measures the processor only");
  if (command.count("--rules") == 0) flags.rules = kSweepRules;
  if (command.count("--rows") > 0) flags.sweep.rows = flags.size.rows;
  if (command.count("--dim") > 0) flags.sweep.dim = flags.size.dim;
  flags.sweep.threads = flags.size.threads;
  return run_sweep(flags);
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure the rules on this machine");
  const auto flags = std::make_shared<BenchFlags>();
  command->add_option("--rows", flags->size.rows, "Rows of the table")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--dim", flags->size.dim, "Values per row")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  command->add_option("--rules", flags->rules, "Rules, separated by commas")->capture_default_str();
  command->add_option("--threads", flags->size.threads, "Threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--device", flags->size.device,
                   "cpu (fast), reference (plain, double precision) or cuda (a plugin)")
      ->check(CLI::IsMember(
          std::vector<std::string>(kernels::kDevices.begin(), kernels::kDevices.end())))
      ->capture_default_str();
  command
      ->add_option("--instructions", flags->instructions,
                   "best: all that this machine has; avx2: as if it had no AVX-512")
      ->check(CLI::IsMember({"best", "avx2"}))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "One JSON object per line");
  command->add_flag("--sweep", flags->is_sweep,
                    "Measure against the number of rows (of --dim values, 20000 unless given),\n"
                    "then against the number of values (of --rows rows)");
  command->add_option("--rows-max", flags->sweep.rows_max, "The most rows of a sweep")
      ->check(CLI::Range(4, 4096))
      ->capture_default_str();
  command->add_option("--values-max", flags->sweep.values_max, "The most values of a sweep")
      ->check(CLI::Range(1000, 1'000'000'000))
      ->capture_default_str();
  command->footer(
      "Each rule is measured in three modes: full (from nothing), noisy and settled (one row\n"
      "changes per call, much or little, and what is known of the others is used). The ratio is "
      "the\n"
      "time over one streaming read of the table, measured in the same run. Below stands how fast "
      "all\n"
      "inner products of the table were, against the processor's peak. A sweep gives the time "
      "over\n"
      "the limit: one read, or for rules that need all inner products their arithmetic.\n\n"
      "Example:\n  ballast bench --rows 64 --rules 'cwmed, ctma(gm, 0.4)'");
  command->require_subcommand(0, 1);
  command->callback([&action, flags, command] {
    if (!command->get_subcommands().empty()) return;  // which has set the action
    action = [flags, command] { return run_bench(*flags, *command); };
  });
  add_bench_train_command(*command, action);
  add_bench_serve_command(*command, action);
}

}  // namespace ballast::apps
