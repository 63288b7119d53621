#pragma once
// A specification: what one TOML file describes.
//
//   workers = 17                  # keys at the top hold for every run
//   seeds = [1, 2, 3]
//   [grid]                        # each combination of the listed values is run
//   attack = ["sign-flip", "label-flip"]
//   [[curve]]                     # alternatives to compare within each combination
//   label = "w-GM"
//   rule = "gm"
//
// The runs are grid x curves x seeds (grid.h). Reading checks names and types; whether the values
// of a run make sense together is known only once grid and curves are applied (validate.h).
//
// Relative file names mean: from the folder of the file; in an override, from the current folder.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/keys.h"
#include "ballast/experiment/run_spec.h"
#include "ballast/experiment/validate.h"

namespace ballast::experiment {

// Larger ones are a mistake. They also bound what a plan of runs can take.
inline constexpr std::size_t kTextBytesMax = 4096;  // of a text, a file name with its folder
inline constexpr std::size_t kChoicesMax = 1000;    // of one key of the grid
inline constexpr std::size_t kCurvesMax = 1000;

// One key set to one value, and by what: see Origins.
struct Setting {
  const Key* key = nullptr;
  Value value;
  std::string origin;
};

// One key of the grid; its settings are the values it takes, at least one, all different.
struct Axis {
  const Key* key = nullptr;
  std::vector<Setting> choices;
};

struct Curve {
  std::string label;
  std::vector<Setting> settings;
};

// Invariants: seeds are not empty and differ; labels are not empty and differ; no key is on two
// axes, twice in a curve, or both on an axis and in a curve.
struct Spec {
  std::string name;
  std::vector<std::uint64_t> seeds = default_seeds();
  RunSpec base;
  std::vector<Axis> grid;     // in the order of the file
  std::vector<Curve> curves;  // empty: nothing is compared
  Origins origins;            // of the base
};

// Equal in meaning: the origins are not compared.
bool operator==(const Setting& left, const Setting& right);
bool operator==(const Axis& left, const Axis& right);
bool operator==(const Curve& left, const Curve& right);
bool operator==(const Spec& left, const Spec& right);

// Sets the key in a run, and notes the origin.
void apply(const Setting& setting, RunSpec& run, Origins& origins);

// Reads a text. `file` is what errors call it, and gives the name and the folder.
Result<Spec> parse_spec(std::string_view text, const std::filesystem::path& file);

Result<Spec> read_spec(const std::filesystem::path& file);

// Sets one key from a text "key=value" or "grid.key=[values]". The value is TOML, or else a text
// without quotes: rule=ctma(gm, 0.4). A key that the grid varies is no longer varied. Refused, with
// nothing changed, is a key that every curve sets: it would have no effect.
Status apply_override(Spec& spec, std::string_view assignment);

// The resolved specification: every key with its value, then grid and curves.
// parse_spec() of it is equal to `spec`.
std::string to_toml(const Spec& spec);

}  // namespace ballast::experiment
