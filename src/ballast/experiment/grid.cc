#include "ballast/experiment/grid.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "ballast/assembly/validate.h"

namespace ballast::experiment {
namespace {

// File systems allow 255 bytes; the rest is for what others put around the name.
constexpr std::size_t kNameCharactersMax = 120;

// Came after results were on record: where they have their defaults they change no fingerprint.
constexpr std::array<std::string_view, 2> kLaterKeys = {"validation_samples", "shards_per_worker"};

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

bool is_kept(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '+';
}

// Signs of the field's formulas that would be missed: GM is not w-GM.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSpelled = {
    {{"\xCF\x89", "w"}, {"\xCE\xBC", "mu"}, {"\xCE\xBB", "lambda"}, {"\xC2\xB2", "2"}}};

std::string spelled_out(std::string text) {
  for (const auto& [sign, word] : kSpelled) {
    for (std::size_t at = 0; (at = text.find(sign, at)) != std::string::npos;) {
      text.replace(at, sign.size(), word);
    }
  }
  return text;
}

// Runs of other characters become one '-'. A name begins with neither '-', which programs take for
// an option, nor '.', which hides a file, and does not end in '-'.
std::string to_file_name(std::string_view text) {
  std::string name;
  for (const char c : spelled_out(std::string(text))) {
    const char next = is_kept(c) ? c : '-';
    if (name.empty() ? next != '-' && next != '.' : next != '-' || name.back() != '-') name += next;
  }
  if (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

// One panel with one combination of the grid's values.
struct Cell {
  const Variant* panel = nullptr;  // none without panels
  std::vector<const Setting*> choices = {};

  // The parts that name it, in order.
  std::vector<std::string> parts(std::string_view between) const {
    std::vector<std::string> parts;
    if (panel != nullptr) parts.push_back(panel->label);
    for (const Setting* choice : choices) {
      parts.push_back(fmt::format("{}{}{}", choice->key->name, between,
                                  assembly::to_plain_text(choice->value)));
    }
    return parts;
  }
};

bool is_left_out(const Variant& curve, const Cell& cell) {
  return cell.panel != nullptr &&
         std::ranges::find(curve.not_in, cell.panel->label) != curve.not_in.end();
}

std::vector<Cell> cells_of(const Spec& spec) {
  std::vector<Cell> result;
  for (const Variant& panel : spec.panels) result.push_back({.panel = &panel});
  if (result.empty()) result.emplace_back();
  for (const Axis& axis : spec.grid) {
    std::vector<Cell> longer;
    for (const Cell& cell : result) {
      for (const Setting& choice : axis.choices) {
        longer.push_back(cell);
        longer.back().choices.push_back(&choice);
      }
    }
    result = std::move(longer);
  }
  return result;
}

std::string run_name(const Spec& spec, const Cell& cell, const Variant& curve) {
  std::string name = to_file_name(curve.label);
  for (const std::string& part : cell.parts(" ")) {
    if (!name.empty()) name += '_';
    name += to_file_name(part);
  }
  if (name.empty()) name = to_file_name(spec.name);
  if (name.empty()) name = "run";
  if (name.size() <= kNameCharactersMax) return name;
  return fmt::format("{}-{:016x}", name.substr(0, kNameCharactersMax), fnv1a(name));
}

// Different labels and values may leave the same letters.
std::string make_unique(std::set<std::string>& names, const std::string& name) {
  std::string result = name;
  for (int copy = 2; !names.insert(result).second; ++copy)
    result = fmt::format("{}-{}", name, copy);
  return result;
}

Result<assembly::RunSpec> make_run(const Spec& spec, const Cell& cell, const Variant& curve) {
  assembly::RunSpec run = spec.base;
  assembly::Origins origins = spec.origins;
  if (cell.panel != nullptr) {
    for (const Setting& setting : cell.panel->settings) apply(setting, run, origins);
  }
  for (const Setting* choice : cell.choices) apply(*choice, run, origins);
  for (const Setting& setting : curve.settings) apply(setting, run, origins);
  run = resolve(std::move(run));
  BALLAST_TRY_STATUS(validate(run, origins));
  BALLAST_TRY_STATUS(check_files(run, origins));
  return run;
}

double stated_share(const Cell& cell, const assembly::RunSpec& run) {
  return cell.panel != nullptr ? cell.panel->stated_share.value_or(run.share) : run.share;
}

// The keys that vary, each once.
std::vector<const assembly::Key*> varied_keys(const Spec& spec) {
  std::vector<const assembly::Key*> result;
  const auto add = [&](const assembly::Key* key) {
    if (std::ranges::find(result, key) == result.end()) result.push_back(key);
  };
  for (const Variant& panel : spec.panels) {
    for (const Setting& setting : panel.settings) add(setting.key);
  }
  for (const Axis& axis : spec.grid) add(axis.key);
  for (const Variant& curve : spec.curves) {
    for (const Setting& setting : curve.settings) add(setting.key);
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> settings_of(
    const std::vector<const assembly::Key*>& keys, const assembly::RunSpec& run) {
  std::vector<std::pair<std::string, std::string>> settings;
  settings.reserve(keys.size());
  for (const assembly::Key* key : keys)
    settings.emplace_back(key->name, assembly::to_plain_text(key->get(run)));
  return settings;
}

Status check_run_count(const Spec& spec) {
  // In floating point, because the product of a hostile grid overflows.
  double count = static_cast<double>(spec.seeds.size());
  if (!spec.panels.empty()) count *= static_cast<double>(spec.panels.size());
  if (!spec.curves.empty()) count *= static_cast<double>(spec.curves.size());
  for (const Axis& axis : spec.grid) count *= static_cast<double>(axis.choices.size());
  if (count <= static_cast<double>(kRunsMax)) return {};
  return invalid_argument(fmt::format("{}: these are {:g} runs, more than {}; shorten the grid",
                                      spec.origins.file, count, kRunsMax));
}

}  // namespace

Result<std::vector<PlannedRun>> expand(const Spec& spec) {
  BALLAST_TRY_STATUS(check_run_count(spec));
  const std::vector<Variant> curves = spec.curves.empty() ? std::vector<Variant>(1) : spec.curves;
  const std::vector<const assembly::Key*> varied = varied_keys(spec);
  std::vector<PlannedRun> runs;
  std::set<std::string> names;
  for (const Cell& cell : cells_of(spec)) {
    for (const Variant& curve : curves) {
      if (is_left_out(curve, cell)) continue;
      BALLAST_TRY(const assembly::RunSpec run, make_run(spec, cell, curve));
      PlannedRun planned{.run = run,
                         .name = make_unique(names, run_name(spec, cell, curve)),
                         .panel = fmt::format("{}", fmt::join(cell.parts(" = "), ", ")),
                         .curve = curve.label,
                         .settings = settings_of(varied, run),
                         .stated_share = stated_share(cell, run),
                         .panel_label = cell.panel != nullptr ? cell.panel->label : ""};
      for (const std::uint64_t seed : spec.seeds) {
        planned.seed = seed;
        runs.push_back(planned);
      }
    }
  }
  if (!runs.empty()) return runs;
  return invalid_argument(fmt::format(
      "{}: every curve is left out of every panel; nothing is to be run", spec.origins.file));
}

std::string fingerprint(const assembly::RunSpec& run, std::uint64_t seed) {
  std::string text = fmt::format("seed = {}\n", seed);
  const assembly::RunSpec defaults;
  for (const assembly::Key& key : assembly::keys()) {
    if (!key.is_of_run()) continue;
    const bool is_later = std::ranges::find(kLaterKeys, key.name) != kLaterKeys.end();
    if (is_later && key.get(run) == key.get(defaults)) continue;
    text += fmt::format("{} = {}\n", key.name, assembly::to_toml(key.get(run)));
  }
  return fmt::format("{:016x}", fnv1a(text));
}

}  // namespace ballast::experiment
