#include "ballast/experiment/spec_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

namespace ballast::experiment {
namespace {

bool names_a_file(const assembly::Key& key, const std::string& value) {
  if (value.empty()) return false;
  return key.type == assembly::KeyType::kPath ||
         (key.name == "model" && assembly::is_model_file(value));
}

Status set_seeds(Spec& spec, const Setting& setting) {
  const auto& seeds = std::get<std::vector<std::uint64_t>>(setting.value);
  const std::set<std::uint64_t> different(seeds.begin(), seeds.end());
  if (seeds.empty()) return error_at(setting.origin, "there must be at least one seed");
  if (different.size() < seeds.size()) return error_at(setting.origin, "a seed is listed twice");
  spec.seeds = seeds;
  return {};
}

Status set_threads(Spec& spec, const Setting& setting) {
  spec.threads = std::get<std::uint64_t>(setting.value);
  if (spec.threads <= kThreadsMax) return {};
  return error_at(setting.origin, fmt::format("there may be at most {} threads", kThreadsMax));
}

Status set_at_top(Spec& spec, const Setting& setting) {
  if (setting.key->name == "seeds") return set_seeds(spec, setting);
  if (setting.key->name == "threads") return set_threads(spec, setting);
  if (setting.key->is_of_run()) {
    apply(setting, spec.base, spec.origins);
  } else if (const auto& name = std::get<std::string>(setting.value); !name.empty()) {
    spec.name = name;
  }
  return {};
}

}  // namespace

tl::unexpected<Error> error_at(std::string_view origin, const Error& error) {
  return tl::unexpected(Error{error.code, fmt::format("{}: {}", origin, error.message)});
}

tl::unexpected<Error> error_at(std::string_view origin, std::string_view message) {
  return invalid_argument(fmt::format("{}: {}", origin, message));
}

Status check_length(std::string_view text, std::string_view origin) {
  if (text.size() <= kTextBytesMax) return {};
  return error_at(origin, fmt::format("is longer than {} bytes", kTextBytesMax));
}

Status SpecReader::read(Spec& spec, const assembly::TomlEntry& entry) const {
  if (entry.key == kGridKey) return read_grid(spec, entry);
  if (entry.key == kPanelKey) return read_variants(spec.panels, entry);
  if (entry.key == kCurveKey) return read_variants(spec.curves, entry);
  if (entry.key == kClaimKey) return read_claims(spec.claims, entry);
  BALLAST_TRY(const Setting setting, read_setting(entry));
  return set_at_top(spec, setting);
}

Status SpecReader::read_grid(Spec& spec, const assembly::TomlEntry& grid) const {
  const auto* entries = std::get_if<assembly::TomlNode::Table>(&grid.node.value);
  if (entries == nullptr) {
    return error_at(origin(grid.key, grid.line, grid.node), "must be a table: [grid]");
  }
  for (const assembly::TomlEntry& entry : *entries) {
    BALLAST_TRY(Axis axis, read_axis(entry));
    const auto old = std::ranges::find(spec.grid, axis.key, &Axis::key);
    if (old == spec.grid.end()) {
      spec.grid.push_back(std::move(axis));
    } else {
      *old = std::move(axis);
    }
  }
  return {};
}

Result<Axis> SpecReader::read_axis(const assembly::TomlEntry& entry) const {
  const std::string name = fmt::format("{}.{}", kGridKey, entry.key);
  const std::string whole = origin(name, entry.line, entry.node);
  BALLAST_TRY(const assembly::Key* key, key_of_a_run(entry.key, whole));
  const auto* nodes = std::get_if<assembly::TomlNode::List>(&entry.node.value);
  if (nodes == nullptr || nodes->empty() || nodes->size() > kChoicesMax) {
    return error_at(whole, fmt::format("must be a list of 1 to {} values", kChoicesMax));
  }
  Axis axis{.key = key, .choices = {}};
  for (const assembly::TomlNode& node : *nodes) {
    BALLAST_TRY(Setting choice, read_choice(*key, node, origin(name, node.line, node)));
    if (std::ranges::find(axis.choices, choice) != axis.choices.end()) {
      return error_at(choice.origin, "is listed twice");
    }
    axis.choices.push_back(std::move(choice));
  }
  return axis;
}

Result<Setting> SpecReader::read_setting(const assembly::TomlEntry& entry) const {
  std::string place = origin(entry.key, entry.line, entry.node);
  const auto key = assembly::find_key(entry.key);
  if (!key) return error_at(place, key.error());
  return read_choice(**key, entry.node, std::move(place));
}

Result<Setting> SpecReader::read_choice(const assembly::Key& key, const assembly::TomlNode& node,
                                        std::string origin) const {
  auto value = assembly::read_value(key, node);
  if (!value) return error_at(origin, value.error());
  auto* text = std::get_if<std::string>(&*value);
  if (text != nullptr && names_a_file(key, *text)) {
    *text = (source_.folder / *text).lexically_normal().string();
  }
  if (text != nullptr) BALLAST_TRY_STATUS(check_length(*text, origin));
  return Setting{.key = &key, .value = std::move(*value), .origin = std::move(origin)};
}

Result<const assembly::Key*> SpecReader::key_of_a_run(std::string_view name,
                                                      std::string_view origin) const {
  const auto key = assembly::find_key(name);
  if (!key) return error_at(origin, key.error());
  if ((*key)->is_of_run()) return *key;
  return error_at(origin, "is one for all runs; set it at the top of the file");
}

std::string SpecReader::origin(std::string_view key, std::size_t line,
                               const assembly::TomlNode& node) const {
  if (!source_.override_text.empty()) return source_.override_text;
  return fmt::format("{}:{}: {} = {}", source_.file, line, assembly::to_shown_text(key),
                     assembly::to_shown_text(node));
}

}  // namespace ballast::experiment
