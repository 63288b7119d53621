#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/ballast/bench.h"
#include "apps/ballast/commands.h"
#include "ballast/robust/registry.h"

namespace ballast::apps {
namespace {

constexpr const char* kDefaultRules =
    "mean, cwmed, gm, ctma(gm, 0.4), ctma(cwmed, 0.4), cwtm(0.2), krum(0.2), nnm(gm, 0.2)";

struct BenchFlags {
  BenchSize size;
  std::string rules = kDefaultRules;
  bool as_json = false;
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

std::string describe_json(const std::string& rule, BenchMode mode, const BenchSize& size,
                          const BenchResult& result) {
  const nlohmann::ordered_json line = {{"rule", rule},
                                       {"mode", to_string(mode)},
                                       {"rows", size.rows},
                                       {"dim", size.dim},
                                       {"threads", size.threads},
                                       {"ms", result.call_ms},
                                       {"stream_ms", result.stream_ms},
                                       {"ratio", result.ratio()}};
  return line.dump() + "\n";
}

std::string describe(const std::string& rule, BenchMode mode, const BenchResult& result) {
  return fmt::format("{:<22}{:<9}{:>9.3f}{:>11.3f}{:>8.2f}\n", rule, to_string(mode),
                     result.call_ms, result.stream_ms, result.ratio());
}

std::string table_head(const BenchSize& size) {
  return fmt::format(
      "{} rows x {} values, {} thread{}; ratio = ms / one streaming read of the table\n\n"
      "{:<22}{:<9}{:>9}{:>11}{:>8}\n",
      size.rows, size.dim, size.threads, size.threads == 1 ? "" : "s", "rule", "mode", "ms",
      "stream ms", "ratio");
}

Status run_bench(const BenchFlags& flags) {
  const std::vector<std::string> rules = split_rules(flags.rules);
  for (const std::string& rule : rules) BALLAST_TRY_STATUS(robust::parse_rule(rule));
  if (!flags.as_json) BALLAST_TRY_STATUS(print(table_head(flags.size)));
  for (const std::string& rule : rules) {
    for (const BenchMode mode : kBenchModes) {
      BALLAST_TRY(const BenchResult result, bench_rule(rule, mode, flags.size));
      BALLAST_TRY_STATUS(print(flags.as_json ? describe_json(rule, mode, flags.size, result)
                                             : describe(rule, mode, result)));
    }
  }
  return {};
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
  command->add_flag("--json", flags->as_json, "One JSON object per line");
  command->callback([&action, flags] { action = [flags] { return run_bench(*flags); }; });
}

}  // namespace ballast::apps
