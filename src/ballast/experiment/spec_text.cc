// The resolved specification as a TOML text.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "ballast/experiment/spec.h"
#include "ballast/experiment/spec_reader.h"

namespace ballast::experiment {
namespace {

std::string line(std::string_view key, std::string_view value) {
  return fmt::format("{} = {}\n", key, value);
}

std::string base_text(const Spec& spec) {
  std::string text = line("name", assembly::to_quoted(spec.name)) +
                     line("seeds", assembly::to_toml(assembly::Value(spec.seeds))) +
                     line("threads", assembly::to_toml(assembly::Value(spec.threads)));
  for (const assembly::Key& key : assembly::keys()) {
    if (key.is_of_run()) text += line(key.name, assembly::to_toml(key.get(spec.base)));
  }
  return text;
}

std::string grid_text(const std::vector<Axis>& grid) {
  if (grid.empty()) return "";
  std::string text = fmt::format("\n[{}]\n", kGridKey);
  for (const Axis& axis : grid) {
    std::vector<std::string> values;
    for (const Setting& choice : axis.choices) values.push_back(assembly::to_toml(choice.value));
    text += line(axis.key->name, fmt::format("[{}]", fmt::join(values, ", ")));
  }
  return text;
}

std::string variant_text(std::string_view kind, const Variant& variant) {
  std::string text =
      fmt::format("\n[[{}]]\n", kind) + line(kLabelKey, assembly::to_quoted(variant.label));
  if (variant.stated_share)
    text += line(kStatedShareKey, assembly::to_toml(assembly::Value(*variant.stated_share)));
  if (!variant.needs.empty()) text += line(kNeedsKey, assembly::to_quoted(variant.needs));
  if (!variant.not_in.empty()) {
    std::vector<std::string> labels;
    for (const std::string& label : variant.not_in) labels.push_back(assembly::to_quoted(label));
    text += line(kNotInKey, fmt::format("[{}]", fmt::join(labels, ", ")));
  }
  for (const Setting& setting : variant.settings) {
    text += line(setting.key->name, assembly::to_toml(setting.value));
  }
  return text;
}

std::string claim_text(const Claim& claim) {
  return fmt::format("\n[[{}]]\n", kClaimKey) + line(kTextKey, assembly::to_quoted(claim.text)) +
         line(kBetterKey, assembly::to_quoted(claim.better)) +
         line(kWorseKey, assembly::to_quoted(claim.worse)) +
         (claim.within ? line(kWithinKey, assembly::to_toml(assembly::Value(*claim.within)))
                       : line(kMarginKey, assembly::to_toml(assembly::Value(claim.margin))));
}

}  // namespace

std::string to_toml(const Spec& spec) {
  std::string text = base_text(spec) + grid_text(spec.grid);
  for (const Variant& panel : spec.panels) text += variant_text(kPanelKey, panel);
  for (const Variant& curve : spec.curves) text += variant_text(kCurveKey, curve);
  for (const Claim& claim : spec.claims) text += claim_text(claim);
  return text;
}

}  // namespace ballast::experiment
