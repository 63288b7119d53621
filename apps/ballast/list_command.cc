#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/ballast/commands.h"
#include "ballast/attacks/registry.h"
#include "ballast/learn/registry.h"
#include "ballast/robust/registry.h"

namespace ballast::apps {
namespace {

struct ListFlags {
  std::string kind = {};
  bool as_json = false;

  bool wants(std::string_view name) const { return kind == name; }
};

std::string line_of(std::string_view name, std::string_view summary) {
  return fmt::format("{:<32}{}\n", name, summary);
}

std::string json_of(std::string_view name, std::string_view summary) {
  return nlohmann::ordered_json{{"name", name}, {"summary", summary}}.dump() + "\n";
}

std::string rules_as_json() {
  std::string text;
  for (const robust::RuleEntry& entry : robust::rule_entries()) {
    const nlohmann::ordered_json line = {{"name", entry.name},
                                         {"usage", entry.usage},
                                         {"summary", entry.summary},
                                         {"source", entry.source}};
    text += line.dump() + "\n";
  }
  return text;
}

std::string rules_as_text() {
  std::string text;
  for (const auto& entry : robust::rule_entries()) text += line_of(entry.usage, entry.summary);
  return text +
         "\nRules nest, as in nnm(ctma(gm, 0.3), 0.3). LAMBDA is a share of the weight, as 0.4 or "
         "1/3.\n";
}

// A registry of names and summaries, in either form.
template <typename Entries>
std::string entries_of(const Entries& entries, bool as_json) {
  std::string text;
  for (const auto& entry : entries) {
    text += as_json ? json_of(entry.name, entry.summary) : line_of(entry.name, entry.summary);
  }
  return text;
}

Status list(const ListFlags& flags) {
  if (flags.wants("attacks")) return print(entries_of(attacks::attack_registry(), flags.as_json));
  if (flags.wants("models")) return print(entries_of(learn::model_registry(), flags.as_json));
  if (flags.as_json) return print(rules_as_json());
  if (flags.wants("rules")) return print(rules_as_text());
  return print(rules_as_text() + "\nAttacks:\n" + entries_of(attacks::attack_registry(), false) +
               "\nModels:\n" + entries_of(learn::model_registry(), false));
}

}  // namespace

void add_list_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("list", "List every rule, attack and model");
  const auto flags = std::make_shared<ListFlags>();
  command->add_option("KIND", flags->kind, "rules, attacks or models; all of them without")
      ->check(CLI::IsMember({"rules", "attacks", "models"}));
  command->add_flag("--json", flags->as_json, "One JSON object per line; rules unless told else");
  command->callback([&action, flags] { action = [flags] { return list(*flags); }; });
}

}  // namespace ballast::apps
