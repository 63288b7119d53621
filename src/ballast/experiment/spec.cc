#include "ballast/experiment/spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "ballast/base/nearest_word.h"
#include "ballast/experiment/spec_reader.h"
#include "ballast/files/file_io.h"

namespace ballast::experiment {
namespace {

bool sets(const Variant& variant, const assembly::Key* key) {
  return std::ranges::find(variant.settings, key, &Setting::key) != variant.settings.end();
}

bool all_set(const std::vector<Variant>& variants, const assembly::Key* key) {
  return !variants.empty() &&
         std::ranges::all_of(variants, [&](const Variant& variant) { return sets(variant, key); });
}

// Refuses a key that one of the variants sets too.
Status check_not_in(const std::vector<Variant>& variants, std::string_view kind,
                    const Setting& setting) {
  for (const Variant& variant : variants) {
    if (!sets(variant, setting.key)) continue;
    return error_at(setting.origin,
                    fmt::format("the {} {} sets {} too; keep one of the two", kind,
                                assembly::to_shown_text(assembly::to_quoted(variant.label)),
                                setting.key->name));
  }
  return {};
}

// A curve may set what its panels set, and wins. What the grid varies nobody else sets.
Status check_grid_is_alone(const Spec& spec) {
  for (const Axis& axis : spec.grid) {
    BALLAST_TRY_STATUS(check_not_in(spec.panels, kPanelKey, axis.choices.front()));
    BALLAST_TRY_STATUS(check_not_in(spec.curves, kCurveKey, axis.choices.front()));
  }
  return {};
}

std::string label_hint(const std::string& label, std::span<const std::string_view> labels) {
  // A text this long is not a misspelt label, and comparing it takes long.
  constexpr std::size_t kMisspeltCharactersMax = 64;
  const auto nearest =
      label.size() <= kMisspeltCharactersMax ? nearest_word(label, labels) : std::nullopt;
  if (!nearest) return "name the label of a [[curve]]";
  return fmt::format("did you mean {}?", assembly::to_shown_text(assembly::to_quoted(*nearest)));
}

Status check_claimed(const Spec& spec, const Claim& claim, const std::string& label) {
  std::vector<std::string_view> labels;
  for (const Variant& curve : spec.curves) labels.push_back(curve.label);
  if (std::ranges::find(labels, label) != labels.end()) return {};
  return error_at(claim.origin, fmt::format("there is no curve {}; {}",
                                            assembly::to_shown_text(assembly::to_quoted(label)),
                                            label_hint(label, labels)));
}

Status check_claims(const Spec& spec) {
  for (const Claim& claim : spec.claims) {
    BALLAST_TRY_STATUS(check_claimed(spec, claim, claim.better));
    BALLAST_TRY_STATUS(check_claimed(spec, claim, claim.worse));
  }
  return {};
}

// Curves are left out of panels that there are.
Status check_left_out(const Spec& spec) {
  std::vector<std::string_view> labels;
  for (const Variant& panel : spec.panels) labels.push_back(panel.label);
  for (const Variant& curve : spec.curves) {
    for (const std::string& label : curve.not_in) {
      if (std::ranges::find(labels, label) != labels.end()) continue;
      return invalid_argument(
          fmt::format("{}: the curve {} is {} a panel {}, which does not exist", spec.origins.file,
                      assembly::to_shown_text(assembly::to_quoted(curve.label)), kNotInKey,
                      assembly::to_shown_text(assembly::to_quoted(label))));
    }
  }
  return {};
}

std::filesystem::path to_absolute(const std::filesystem::path& path) {
  std::error_code error;
  const auto result = std::filesystem::absolute(path, error);
  return error ? path : result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// The value of an override as TOML, or nothing if it is not one value.
std::optional<assembly::TomlNode> parse_value(std::string_view value) {
  auto table = assembly::parse_toml(fmt::format("value = {}", value), "");
  if (!table || table->size() != 1 || table->front().key != "value") return std::nullopt;
  return std::move(table->front().node);
}

bool wants_text(std::string_view name) {
  const auto key = assembly::find_key(name);
  if (!key) return false;
  const assembly::KeyType type = (*key)->type;
  return type == assembly::KeyType::kText || type == assembly::KeyType::kWord ||
         type == assembly::KeyType::kPath || type == assembly::KeyType::kExpression;
}

// `grid.key` becomes the table that the file would have.
assembly::TomlEntry to_entry(std::string_view key, assembly::TomlNode node) {
  const std::string prefix = fmt::format("{}.", kGridKey);
  if (!key.starts_with(prefix)) {
    return {.key = std::string(key), .line = 0, .node = std::move(node)};
  }
  assembly::TomlNode::Table grid;
  grid.push_back(
      {.key = std::string(key.substr(prefix.size())), .line = 0, .node = std::move(node)});
  return {.key = std::string(kGridKey), .line = 0, .node = {.line = 0, .value = std::move(grid)}};
}

Result<assembly::TomlEntry> parse_assignment(std::string_view assignment, std::string_view origin) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return error_at(origin, "must have the form key=value");
  const std::string_view key = trimmed(assignment.substr(0, equals));
  const std::string_view text = trimmed(assignment.substr(equals + 1));
  if (key == kGridKey || key == kPanelKey || key == kCurveKey || key == kClaimKey) {
    return error_at(origin, "set grid.KEY=[VALUES], or edit the file");
  }
  auto node = parse_value(text);
  const bool is_text = node && std::holds_alternative<std::string>(node->value);
  if (!node || (wants_text(key) && !is_text)) node = parse_value(assembly::to_quoted(text));
  if (!node) return error_at(origin, "the value must be UTF-8 text");
  return to_entry(key, std::move(*node));
}

// What the override fixes is no longer varied, and must not be hidden by panels or curves.
Status make_effective(Spec& spec, std::string_view name, std::string_view origin) {
  const auto key = assembly::find_key(name);
  if (!key) return {};  // grid.KEY
  std::erase_if(spec.grid, [&](const Axis& axis) { return axis.key == *key; });
  const bool is_in_panels = all_set(spec.panels, *key);
  if (!is_in_panels && !all_set(spec.curves, *key)) return {};
  return error_at(origin, fmt::format("every [[{}]] sets {}; edit the file",
                                      is_in_panels ? kPanelKey : kCurveKey, name));
}

}  // namespace

bool operator==(const Setting& left, const Setting& right) {
  return left.key == right.key && left.value == right.value;
}

bool operator==(const Axis& left, const Axis& right) {
  return left.key == right.key && left.choices == right.choices;
}

bool operator==(const Variant& left, const Variant& right) {
  return left.label == right.label && left.settings == right.settings &&
         left.stated_share == right.stated_share && left.needs == right.needs &&
         left.not_in == right.not_in;
}

bool operator==(const Claim& left, const Claim& right) {
  return left.text == right.text && left.better == right.better && left.worse == right.worse &&
         left.margin == right.margin && left.within == right.within;
}

bool operator==(const Spec& left, const Spec& right) {
  return left.name == right.name && left.seeds == right.seeds && left.base == right.base &&
         left.panels == right.panels && left.grid == right.grid && left.curves == right.curves &&
         left.claims == right.claims;
}

void apply(const Setting& setting, assembly::RunSpec& run, assembly::Origins& origins) {
  setting.key->set(run, setting.value);
  origins.by_key.insert_or_assign(std::string(setting.key->name), setting.origin);
}

Result<Spec> parse_spec(std::string_view text, const std::filesystem::path& file) {
  BALLAST_TRY(const assembly::TomlNode::Table table, assembly::parse_toml(text, file.string()));
  return read_table(table, file);
}

Result<Spec> read_table(const assembly::TomlNode::Table& table, const std::filesystem::path& file) {
  Spec spec;
  spec.name = file.stem().string();
  spec.origins.file = file.string();
  const SpecReader reader(
      {.file = file.string(), .override_text = "", .folder = to_absolute(file).parent_path()});
  for (const assembly::TomlEntry& entry : table) BALLAST_TRY_STATUS(reader.read(spec, entry));
  BALLAST_TRY_STATUS(check_grid_is_alone(spec));
  BALLAST_TRY_STATUS(check_claims(spec));
  BALLAST_TRY_STATUS(check_left_out(spec));
  return spec;
}

Result<Spec> read_spec(const std::filesystem::path& file) {
  BALLAST_TRY(const auto bytes, files::read_file(file));
  return parse_spec({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file);
}

Status apply_override(Spec& spec, std::string_view assignment) {
  const std::string origin = fmt::format("--set {}", assembly::to_shown_text(assignment));
  BALLAST_TRY(const assembly::TomlEntry entry, parse_assignment(assignment, origin));
  Spec changed = spec;
  const SpecReader reader(
      {.file = "", .override_text = origin, .folder = to_absolute(".").lexically_normal()});
  BALLAST_TRY_STATUS(reader.read(changed, entry));
  BALLAST_TRY_STATUS(make_effective(changed, entry.key, origin));
  BALLAST_TRY_STATUS(check_grid_is_alone(changed));
  spec = std::move(changed);
  return {};
}

}  // namespace ballast::experiment
