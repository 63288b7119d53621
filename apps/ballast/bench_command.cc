#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/ballast/bench.h"
#include "apps/ballast/commands.h"
#include "ballast/kernels/backend.h"
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

std::string describe_json(const std::string& rule, BenchMode mode, const BenchSize& size,
                          const BenchResult& result) {
  const nlohmann::ordered_json line = {
      {"rule", rule},         {"mode", to_string(mode)},       {"rows", size.rows},
      {"dim", size.dim},      {"device", size.device},         {"threads", size.threads},
      {"ms", result.call_ms}, {"stream_ms", result.stream_ms}, {"ratio", result.ratio()}};
  return line.dump() + "\n";
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

Status run_bench(const BenchFlags& flags) {
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
  command
      ->add_option("--device", flags->size.device,
                   "cpu (fast), reference (plain, double precision) or cuda (a plugin)")
      ->check(CLI::IsMember(
          std::vector<std::string>(kernels::kDevices.begin(), kernels::kDevices.end())))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "One JSON object per line");
  command->footer(
      "Each rule is measured in three modes: full (from nothing), noisy and settled (one row\n"
      "changes per call, much or little, and what is known of the others is used). The ratio is "
      "the\n"
      "time over one streaming read of the table, measured in the same run.\n\n"
      "Example:\n  ballast bench --rows 64 --rules 'cwmed, ctma(gm, 0.4)'");
  command->require_subcommand(0, 1);
  command->callback([&action, flags, command] {
    if (!command->get_subcommands().empty()) return;  // which has set the action
    action = [flags] { return run_bench(*flags); };
  });
  add_bench_train_command(*command, action);
  add_bench_serve_command(*command, action);
}

}  // namespace ballast::apps
