#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/ballast/commands.h"
#include "ballast/robust/registry.h"

namespace ballast::apps {
namespace {

Status list_rules(bool as_json) {
  std::string text;
  for (const robust::RuleEntry& entry : robust::rule_entries()) {
    if (as_json) {
      const nlohmann::ordered_json line = {{"name", entry.name},
                                           {"usage", entry.usage},
                                           {"summary", entry.summary},
                                           {"source", entry.source}};
      text += line.dump() + "\n";
    } else {
      text += fmt::format("{:<32}{}\n", entry.usage, entry.summary);
    }
  }
  if (!as_json) {
    text +=
        "\nRules nest, as in nnm(ctma(gm, 0.3), 0.3). LAMBDA is a share of the weight, as 0.4 or "
        "1/3.\n";
  }
  return print(text);
}

}  // namespace

void add_list_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("list", "List every aggregation rule");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "One JSON object per line");
  command->callback([&action, as_json] { action = [as_json] { return list_rules(*as_json); }; });
}

}  // namespace ballast::apps
