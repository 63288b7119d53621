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
  std::string text = line("name", to_quoted(spec.name)) + line("seeds", to_toml(Value(spec.seeds)));
  for (const Key& key : keys()) {
    if (key.is_of_run()) text += line(key.name, to_toml(key.get(spec.base)));
  }
  return text;
}

std::string grid_text(const std::vector<Axis>& grid) {
  if (grid.empty()) return "";
  std::string text = fmt::format("\n[{}]\n", kGridKey);
  for (const Axis& axis : grid) {
    std::vector<std::string> values;
    for (const Setting& choice : axis.choices) values.push_back(to_toml(choice.value));
    text += line(axis.key->name, fmt::format("[{}]", fmt::join(values, ", ")));
  }
  return text;
}

std::string curve_text(const Curve& curve) {
  std::string text = fmt::format("\n[[{}]]\n", kCurveKey) + line(kLabelKey, to_quoted(curve.label));
  for (const Setting& setting : curve.settings) {
    text += line(setting.key->name, to_toml(setting.value));
  }
  return text;
}

}  // namespace

std::string to_toml(const Spec& spec) {
  std::string text = base_text(spec) + grid_text(spec.grid);
  for (const Curve& curve : spec.curves) text += curve_text(curve);
  return text;
}

}  // namespace ballast::experiment
