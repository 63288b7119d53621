#include "ballast/expression/render.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast::expression {
namespace {

std::string_view kind_text(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kNumber:
      return "number";
    case ParameterKind::kWhole:
      return "whole number";
    case ParameterKind::kWord:
      return "word";
    case ParameterKind::kExpression:
      return "expression";
  }
  return "";
}

// "the share to defend against; at least 0 and below 1/2; else 0.2"
std::string explained(const Parameter& parameter) {
  std::string text(parameter.help);
  const std::string range = range_text(parameter);
  text += fmt::format("; {}", range.empty() ? "any number" : range);
  if (!parameter.is_required) text += fmt::format("; else {}", default_text(parameter));
  return text;
}

nlohmann::ordered_json json_of(const Parameter& parameter) {
  nlohmann::ordered_json absent = nullptr;
  if (!parameter.is_required) absent = default_text(parameter);
  return {{"name", parameter.name},
          {"kind", kind_text(parameter.kind)},
          {"range", range_text(parameter)},
          {"default", absent},
          {"help", parameter.help}};
}

nlohmann::ordered_json json_of(const Family& family, const Entry& entry) {
  auto parameters = nlohmann::ordered_json::array();
  for (const Parameter& parameter : entry.parameters) parameters.push_back(json_of(parameter));
  return {{"kind", family.noun},     {"name", entry.name},   {"usage", usage(entry)},
          {"help", entry.help},      {"paper", entry.paper}, {"joins", entry.can_be_joined},
          {"parameters", parameters}};
}

std::string markdown_parameters(const Entry& entry) {
  std::string text;
  for (const Parameter& parameter : entry.parameters) {
    if (!text.empty()) text += "<br>";
    text += fmt::format("`{}`: {}", parameter.name, explained(parameter));
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string to_text(const Catalogue& catalogue) {
  std::string text;
  for (const Entry* entry : catalogue.entries) {
    text += fmt::format("{}\n    {}\n", usage(*entry), entry->help);
    for (const Parameter& parameter : entry->parameters) {
      text += fmt::format("    {:<12}{}\n", parameter.name, explained(parameter));
    }
    if (entry->can_be_joined) text += "    several are joined by '&'\n";
    if (entry->paper != "-") text += fmt::format("    [{}]\n", entry->paper);
  }
  return text;
}

std::string to_json_lines(const Catalogue& catalogue) {
  std::string text;
  for (const Entry* entry : catalogue.entries) {
    text += json_of(catalogue.family, *entry).dump() + "\n";
  }
  return text;
}

std::string to_markdown(const Catalogue& catalogue) {
  std::string text = fmt::format("| {} | what it does | parameters | paper |\n|---|---|---|---|\n",
                                 catalogue.family.noun);
  for (const Entry* entry : catalogue.entries) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", usage(*entry), entry->help,
                        markdown_parameters(*entry), entry->paper);
  }
  return text;
}

}  // namespace ballast::expression
