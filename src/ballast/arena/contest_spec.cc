#include "ballast/arena/contest_spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ballast/arena/contest_reader.h"
#include "ballast/assembly/keys.h"
#include "ballast/base/check.h"

namespace ballast::embedded {

extern const std::string_view kArena;
extern const std::string_view kArenaAdaptive;
extern const std::string_view kArenaCifar;

}  // namespace ballast::embedded

namespace ballast::arena {
namespace {

using experiment::Axis;
using experiment::Setting;
using experiment::Spec;
using experiment::Variant;

constexpr std::string_view kAttackKey = "attack";
constexpr std::string_view kEtaKey = "eta";

tl::unexpected<Error> wrong(const ContestSpec& contest, std::string_view message) {
  return invalid_argument(fmt::format("{}: {}", contest.spec.origins.file, message));
}

std::string shown(std::string_view text) {
  return assembly::to_shown_text(assembly::to_quoted(text));
}

bool has_label(const std::vector<Variant>& variants, const std::string& label) {
  return std::ranges::find(variants, label, &Variant::label) != variants.end();
}

// What a contest among the best has from the one before it.
Status take_over(ContestSpec& contest, const ContestSpec* before) {
  const bool has_search = contest.search != StepSearch();
  if (contest.best == 0 && !contest.worlds.empty()) {
    return wrong(contest, "worlds are those of the contest before, and come with best = N");
  }
  if (contest.best == 0 || (has_search && contest.worlds.empty())) return {};
  if (before == nullptr) {
    return wrong(contest, "takes the best of the contest before, and none is before it");
  }
  if (!has_search) contest.search = before->search;
  for (const std::string& label : contest.worlds) {
    const auto found = std::ranges::find(before->spec.panels, label, &Variant::label);
    if (found == before->spec.panels.end()) {
      return wrong(contest, fmt::format("the contest before has no panel {}", shown(label)));
    }
    contest.spec.panels.push_back(*found);
  }
  return {};
}

Status check_panels(const ContestSpec& contest, const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    if (has_label(contest.spec.panels, label)) continue;
    return wrong(contest, fmt::format("there is no panel {}", shown(label)));
  }
  return {};
}

Status check_search(const ContestSpec& contest) {
  const StepSearch& search = contest.search;
  const std::set<double> different(search.etas.begin(), search.etas.end());
  if (search.etas.empty() || search.attacks.empty() || search.panels.empty() ||
      search.seeds.empty() || search.validation_samples == 0) {
    return wrong(contest,
                 "[arena.search] needs eta, validation_samples, attacks, panels and seeds");
  }
  if (different.size() < search.etas.size()) return wrong(contest, "a step size is listed twice");
  return check_panels(contest, search.panels);
}

Status check_curves(const ContestSpec& contest) {
  const Spec& spec = contest.spec;
  if (spec.curves.empty() != (contest.best > 0)) {
    return wrong(contest, "needs its methods as [[curve]] tables, or else best = N in [arena]");
  }
  if (!spec.curves.empty() && !has_label(spec.curves, contest.recommended)) {
    return wrong(contest, fmt::format("the recommended curve {} does not exist",
                                      shown(contest.recommended)));
  }
  for (const Variant& curve : spec.curves) {
    for (const Setting& setting : curve.settings) {
      if (setting.key->name != kEtaKey) continue;
      return wrong(contest, fmt::format("the curve {} sets eta, which the search finds",
                                        shown(curve.label)));
    }
  }
  return {};
}

Status check(const ContestSpec& contest) {
  const Spec& spec = contest.spec;
  if (spec.panels.empty()) return wrong(contest, "a contest needs [[panel]] tables");
  if (spec.grid.size() != 1 || spec.grid.front().key->name != kAttackKey) {
    return wrong(contest, "the [grid] of a contest has attack = [...] and nothing else");
  }
  BALLAST_TRY_STATUS(check_curves(contest));
  BALLAST_TRY_STATUS(check_search(contest));
  for (const ContestSize& size : contest.sizes) {
    BALLAST_TRY_STATUS(check_panels(contest, size.panels));
    BALLAST_TRY_STATUS(check_panels(contest, size.search.panels.value_or(contest.search.panels)));
  }
  return {};
}

// Drops panels, and what curves say of them.
void keep_panels(Spec& spec, const std::vector<std::string>& labels) {
  const auto is_kept = [&](const std::string& label) {
    return std::ranges::find(labels, label) != labels.end();
  };
  std::erase_if(spec.panels, [&](const Variant& panel) { return !is_kept(panel.label); });
  for (Variant& curve : spec.curves) {
    std::erase_if(curve.not_in, [&](const std::string& label) { return !is_kept(label); });
  }
}

template <typename T>
void change(T& value, const std::optional<T>& changed) {
  if (changed) value = *changed;
}

const assembly::Key* key_of(std::string_view name) {
  const auto key = assembly::find_key(name);
  BALLAST_CHECK(key.has_value(), "a key of the table");
  return *key;
}

template <typename T>
Axis axis_of(std::string_view name, const std::vector<T>& values, const std::string& file) {
  Axis axis{.key = key_of(name), .choices = {}};
  for (const T& value : values) {
    axis.choices.push_back({.key = axis.key,
                            .value = value,
                            .origin = fmt::format("{}: {} = {}", file, name,
                                                  assembly::to_shown_text(
                                                      assembly::to_toml(assembly::Value(value))))});
  }
  return axis;
}

}  // namespace

Result<ContestSpec> parse_contest(std::string_view text, const std::filesystem::path& file,
                                  const ContestSpec* before) {
  BALLAST_TRY(assembly::TomlNode::Table table, assembly::parse_toml(text, file.string()));
  const auto own = std::ranges::find(table, kArenaKey, &assembly::TomlEntry::key);
  if (own == table.end()) {
    return invalid_argument(fmt::format("{}: a contest needs a table [arena]", file.string()));
  }
  ContestSpec contest;
  BALLAST_TRY_STATUS(read_arena(contest, *own, file.string()));
  table.erase(own);
  BALLAST_TRY(contest.spec, experiment::read_table(table, file));
  BALLAST_TRY_STATUS(take_over(contest, before));
  BALLAST_TRY_STATUS(check(contest));
  return contest;
}

Result<std::vector<ContestSpec>> carried_contests() {
  std::vector<ContestSpec> contests(3);
  BALLAST_TRY(contests[0], parse_contest(embedded::kArena, "arena.toml"));
  BALLAST_TRY(contests[1],
              parse_contest(embedded::kArenaAdaptive, "arena-adaptive.toml", &contests.front()));
  BALLAST_TRY(contests[2],
              parse_contest(embedded::kArenaCifar, "arena-cifar10.toml", &contests[1]));
  return contests;
}

Result<ContestSpec> at_size(ContestSpec contest, std::string_view name) {
  if (name == kFullSize) return contest;
  const auto found = std::ranges::find(contest.sizes, name, &ContestSize::name);
  if (found == contest.sizes.end()) {
    std::string names(kFullSize);
    for (const ContestSize& size : contest.sizes) names += ", " + size.name;
    return not_found(fmt::format("there is no size {}; there are: {}", shown(name), names));
  }
  const ContestSize size = *found;
  for (const std::string& setting : size.settings) {
    BALLAST_TRY_STATUS(experiment::apply_override(contest.spec, setting));
  }
  if (!size.panels.empty()) keep_panels(contest.spec, size.panels);
  change(contest.best, size.best);
  change(contest.search.etas, size.search.etas);
  change(contest.search.validation_samples, size.search.validation_samples);
  change(contest.search.attacks, size.search.attacks);
  change(contest.search.panels, size.search.panels);
  change(contest.search.seeds, size.search.seeds);
  contest.sizes.clear();  // they are of the whole
  BALLAST_TRY_STATUS(check(contest));
  return contest;
}

Result<Spec> search_spec(const ContestSpec& contest) {
  const StepSearch& search = contest.search;
  Spec spec = contest.spec;
  spec.name += "-search";
  spec.seeds = search.seeds;
  spec.base.validation_samples = search.validation_samples;
  keep_panels(spec, search.panels);
  spec.grid = {axis_of(kAttackKey, search.attacks, spec.origins.file),
               axis_of(kEtaKey, search.etas, spec.origins.file)};
  return spec;
}

Spec with_steps(const Spec& spec, const std::vector<double>& etas) {
  BALLAST_CHECK(etas.size() == spec.curves.size(), "one step size per curve");
  Spec result = spec;
  for (std::size_t i = 0; i < etas.size(); ++i) {
    result.curves[i].settings.push_back(
        {.key = key_of(kEtaKey), .value = etas[i], .origin = "the step size that was found"});
  }
  return result;
}

}  // namespace ballast::arena
