#include "ballast/experiment/spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "ballast/experiment/spec_reader.h"
#include "ballast/files/file_io.h"

namespace ballast::experiment {
namespace {

bool sets(const Curve& curve, const Key* key) {
  return std::ranges::find(curve.settings, key, &Setting::key) != curve.settings.end();
}

Status check_grid_against_curves(const Spec& spec) {
  for (const Axis& axis : spec.grid) {
    for (const Curve& curve : spec.curves) {
      if (!sets(curve, axis.key)) continue;
      return error_at(axis.choices.front().origin,
                      fmt::format("the curve {} sets {} too; keep one of the two",
                                  to_shown_text(to_quoted(curve.label)), axis.key->name));
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
std::optional<TomlNode> parse_value(std::string_view value) {
  auto table = parse_toml(fmt::format("value = {}", value), "");
  if (!table || table->size() != 1 || table->front().key != "value") return std::nullopt;
  return std::move(table->front().node);
}

bool wants_text(std::string_view name) {
  const auto key = find_key(name);
  if (!key) return false;
  const KeyType type = (*key)->type;
  return type == KeyType::kText || type == KeyType::kWord || type == KeyType::kPath;
}

// `grid.key` becomes the table that the file would have.
TomlEntry to_entry(std::string_view key, TomlNode node) {
  const std::string prefix = fmt::format("{}.", kGridKey);
  if (!key.starts_with(prefix)) {
    return {.key = std::string(key), .line = 0, .node = std::move(node)};
  }
  TomlNode::Table grid;
  grid.push_back(
      {.key = std::string(key.substr(prefix.size())), .line = 0, .node = std::move(node)});
  return {.key = std::string(kGridKey), .line = 0, .node = {.line = 0, .value = std::move(grid)}};
}

Result<TomlEntry> parse_assignment(std::string_view assignment, std::string_view origin) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return error_at(origin, "must have the form key=value");
  const std::string_view key = trimmed(assignment.substr(0, equals));
  const std::string_view text = trimmed(assignment.substr(equals + 1));
  if (key == kGridKey || key == kCurveKey) {
    return error_at(origin, "set grid.KEY=[VALUES], or edit the file");
  }
  auto node = parse_value(text);
  const bool is_text = node && std::holds_alternative<std::string>(node->value);
  if (!node || (wants_text(key) && !is_text)) node = parse_value(to_quoted(text));
  if (!node) return error_at(origin, "the value must be UTF-8 text");
  return to_entry(key, std::move(*node));
}

// What the override fixes is no longer varied, and must not be hidden by the curves.
Status make_effective(Spec& spec, std::string_view name, std::string_view origin) {
  const auto key = find_key(name);
  if (!key) return {};  // grid.KEY
  std::erase_if(spec.grid, [&](const Axis& axis) { return axis.key == *key; });
  const bool is_hidden =
      !spec.curves.empty() &&
      std::ranges::all_of(spec.curves, [&](const Curve& curve) { return sets(curve, *key); });
  if (!is_hidden) return {};
  return error_at(origin, fmt::format("every [[curve]] sets {}; edit the file", name));
}

}  // namespace

bool operator==(const Setting& left, const Setting& right) {
  return left.key == right.key && left.value == right.value;
}

bool operator==(const Axis& left, const Axis& right) {
  return left.key == right.key && left.choices == right.choices;
}

bool operator==(const Curve& left, const Curve& right) {
  return left.label == right.label && left.settings == right.settings;
}

bool operator==(const Spec& left, const Spec& right) {
  return left.name == right.name && left.seeds == right.seeds && left.base == right.base &&
         left.grid == right.grid && left.curves == right.curves;
}

void apply(const Setting& setting, RunSpec& run, Origins& origins) {
  setting.key->set(run, setting.value);
  origins.by_key.insert_or_assign(std::string(setting.key->name), setting.origin);
}

Result<Spec> parse_spec(std::string_view text, const std::filesystem::path& file) {
  BALLAST_TRY(const TomlNode::Table table, parse_toml(text, file.string()));
  Spec spec;
  spec.name = file.stem().string();
  spec.origins.file = file.string();
  const SpecReader reader(
      {.file = file.string(), .override_text = "", .folder = to_absolute(file).parent_path()});
  for (const TomlEntry& entry : table) BALLAST_TRY_STATUS(reader.read(spec, entry));
  BALLAST_TRY_STATUS(check_grid_against_curves(spec));
  return spec;
}

Result<Spec> read_spec(const std::filesystem::path& file) {
  const auto bytes = files::read_file(file);
  if (!bytes) return error_at(file.string(), bytes.error());
  return parse_spec({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, file);
}

Status apply_override(Spec& spec, std::string_view assignment) {
  const std::string origin = fmt::format("--set {}", to_shown_text(assignment));
  BALLAST_TRY(const TomlEntry entry, parse_assignment(assignment, origin));
  Spec changed = spec;
  const SpecReader reader(
      {.file = "", .override_text = origin, .folder = to_absolute(".").lexically_normal()});
  BALLAST_TRY_STATUS(reader.read(changed, entry));
  BALLAST_TRY_STATUS(make_effective(changed, entry.key, origin));
  BALLAST_TRY_STATUS(check_grid_against_curves(changed));
  spec = std::move(changed);
  return {};
}

}  // namespace ballast::experiment
