#include "ballast/experiment/grid.h"

#include <fmt/core.h>

#include <set>
#include <string_view>
#include <utility>

#include "ballast/experiment/validate.h"

namespace ballast::experiment {
namespace {

// File systems allow 255 bytes; the rest is for what others put around the name.
constexpr std::size_t kNameCharactersMax = 120;

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

bool is_kept(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '+';
}

// Runs of other characters become one '-'. A name begins with neither '-', which programs take for
// an option, nor '.', which hides a file, and does not end in '-'.
std::string to_file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const char next = is_kept(c) ? c : '-';
    if (name.empty() ? next != '-' && next != '.' : next != '-' || name.back() != '-') name += next;
  }
  if (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

// One combination of the grid's values.
struct Panel {
  std::vector<const Setting*> choices;

  std::string text() const {
    std::string text;
    for (const Setting* choice : choices) {
      if (!text.empty()) text += ", ";
      text += fmt::format("{} = {}", choice->key->name, to_plain_text(choice->value));
    }
    return text;
  }
};

std::vector<Panel> panels(const std::vector<Axis>& grid) {
  std::vector<Panel> result(1);
  for (const Axis& axis : grid) {
    std::vector<Panel> longer;
    for (const Panel& panel : result) {
      for (const Setting& choice : axis.choices) {
        longer.push_back(panel);
        longer.back().choices.push_back(&choice);
      }
    }
    result = std::move(longer);
  }
  return result;
}

std::string run_name(const Panel& panel, const Curve& curve, std::uint64_t seed) {
  std::string name = to_file_name(curve.label);
  for (const Setting* choice : panel.choices) {
    if (!name.empty()) name += '_';
    name += to_file_name(fmt::format("{} {}", choice->key->name, to_plain_text(choice->value)));
  }
  if (name.size() > kNameCharactersMax) {
    name = fmt::format("{}-{:016x}", name.substr(0, kNameCharactersMax), fnv1a(name));
  }
  return fmt::format("{}{}seed-{}", name, name.empty() ? "" : "_", seed);
}

// Different labels and values may leave the same letters.
void add_unique(std::vector<PlannedRun>& runs, std::set<std::string>& names, PlannedRun run) {
  const std::string name = run.name;
  for (int copy = 2; !names.insert(run.name).second; ++copy) {
    run.name = fmt::format("{}-{}", name, copy);
  }
  runs.push_back(std::move(run));
}

Result<RunSpec> make_run(const Spec& spec, const Panel& panel, const Curve& curve) {
  RunSpec run = spec.base;
  Origins origins = spec.origins;
  for (const Setting* choice : panel.choices) apply(*choice, run, origins);
  for (const Setting& setting : curve.settings) apply(setting, run, origins);
  run = resolve(std::move(run));
  BALLAST_TRY_STATUS(validate(run, origins));
  BALLAST_TRY_STATUS(check_files(run, origins));
  return run;
}

Status check_run_count(const Spec& spec) {
  // In floating point, because the product of a hostile grid overflows.
  double count = static_cast<double>(spec.seeds.size());
  if (!spec.curves.empty()) count *= static_cast<double>(spec.curves.size());
  for (const Axis& axis : spec.grid) count *= static_cast<double>(axis.choices.size());
  if (count <= static_cast<double>(kRunsMax)) return {};
  return invalid_argument(fmt::format("{}: these are {:g} runs, more than {}; shorten the grid",
                                      spec.origins.file, count, kRunsMax));
}

}  // namespace

Result<std::vector<PlannedRun>> expand(const Spec& spec) {
  BALLAST_TRY_STATUS(check_run_count(spec));
  const std::vector<Curve> curves = spec.curves.empty() ? std::vector<Curve>(1) : spec.curves;
  std::vector<PlannedRun> runs;
  std::set<std::string> names;
  for (const Panel& panel : panels(spec.grid)) {
    for (const Curve& curve : curves) {
      BALLAST_TRY(const RunSpec run, make_run(spec, panel, curve));
      for (const std::uint64_t seed : spec.seeds) {
        add_unique(runs, names,
                   PlannedRun{.run = run,
                              .seed = seed,
                              .name = run_name(panel, curve, seed),
                              .panel = panel.text(),
                              .curve = curve.label});
      }
    }
  }
  return runs;
}

std::string fingerprint(const RunSpec& run, std::uint64_t seed) {
  std::string text = fmt::format("seed = {}\n", seed);
  for (const Key& key : keys()) {
    if (key.is_of_run()) text += fmt::format("{} = {}\n", key.name, to_toml(key.get(run)));
  }
  return fmt::format("{:016x}", fnv1a(text));
}

}  // namespace ballast::experiment
