#pragma once
// A specification: what one TOML file describes.
//
//   workers = 17                  # keys at the top hold for every run
//   seeds = [1, 2, 3]
//   [[panel]]                     # settings that belong together: one picture each
//   label = "fast liar"
//   share = 0.4
//   [grid]                        # each combination of the listed values is run
//   attack = ["sign-flip", "label-flip"]
//   [[curve]]                     # alternatives to compare within each combination
//   label = "w-GM"
//   rule = "gm"
//   [[claim]]                     # what the results are expected to show (claims.h)
//   text = "weights help"
//   better = "w-GM"
//   worse = "GM"
//
// The runs are panels x grid x curves x seeds (grid.h). Reading checks names and types; whether the
// values of a run make sense together is known only once grid and curves are applied (validate.h).
//
// Relative file names mean: from the folder of the file; in an override, from the current folder.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/assembly/keys.h"
#include "ballast/assembly/run_spec.h"
#include "ballast/assembly/toml_document.h"
#include "ballast/assembly/validate.h"
#include "ballast/base/error.h"

namespace ballast::experiment {

// Larger ones are a mistake. They also bound what a plan of runs can take.
inline constexpr std::uint64_t kThreadsMax = 1024;
inline constexpr std::size_t kTextBytesMax = 4096;  // of a text, a file name with its folder
inline constexpr std::size_t kChoicesMax = 1000;    // of one key of the grid
inline constexpr std::size_t kTablesMax = 1000;     // of [[panel]], [[curve]] or [[claim]]

// One key set to one value, and by what: see Origins.
struct Setting {
  const assembly::Key* key = nullptr;
  assembly::Value value;
  std::string origin;
};

// One key of the grid; its settings are the values it takes, at least one, all different.
struct Axis {
  const assembly::Key* key = nullptr;
  std::vector<Setting> choices;
};

// A panel or a curve.
struct Variant {
  std::string label;
  std::vector<Setting> settings;
  // Of a panel: the share that somebody states for it, where the share that is run is another.
  std::optional<double> stated_share = {};
  // Of a curve: what somebody must tell it, for people; and labels of panels that it is not run in.
  std::string needs = {};
  std::vector<std::string> not_in = {};
};

// In each panel, the final accuracy of the curve `better` is at least that of `worse` and the
// margin; or, with `within`, the two differ by no more than that, either way. Has no part in the
// runs.
struct Claim {
  std::string text;
  std::string better;                 // label of a curve
  std::string worse;                  // label of another
  double margin = 0.0;                // in points of per cent
  std::optional<double> within = {};  // in points of per cent, not negative; then no margin
  std::string origin = {};
};

// Invariants: seeds are not empty and differ; labels are not empty and differ among the panels and
// among the curves; what the grid varies is set in no panel or curve; a key is set at most once in
// each table; claims name curves; curves are left out of panels that exist. What a curve sets wins
// over its panel.
struct Spec {
  std::string name;
  std::vector<std::uint64_t> seeds = assembly::default_seeds();
  std::uint64_t threads = 0;  // 0: as many as there are
  assembly::RunSpec base;
  std::vector<Variant> panels;  // in the order of the file, as are the grid and the curves
  std::vector<Axis> grid;
  std::vector<Variant> curves;  // empty: nothing is compared
  std::vector<Claim> claims;
  assembly::Origins origins;  // of the base
};

// Equal in meaning: the origins are not compared.
bool operator==(const Setting& left, const Setting& right);
bool operator==(const Axis& left, const Axis& right);
bool operator==(const Variant& left, const Variant& right);
bool operator==(const Claim& left, const Claim& right);
bool operator==(const Spec& left, const Spec& right);

// Sets the key in a run, and notes the origin.
void apply(const Setting& setting, assembly::RunSpec& run, assembly::Origins& origins);

// Reads a text. `file` is what errors call it, and gives the name and the folder.
Result<Spec> parse_spec(std::string_view text, const std::filesystem::path& file);

// The same from what a text holds, for readers who take tables of their own out of it first.
Result<Spec> read_table(const assembly::TomlNode::Table& table, const std::filesystem::path& file);

Result<Spec> read_spec(const std::filesystem::path& file);

// Sets one key from a text "key=value" or "grid.key=[values]". The value is TOML, or else a text
// without quotes: rule=ctma(gm, 0.4). A key that the grid varies is no longer varied. Refused, with
// nothing changed, is a key that every panel or every curve sets: it would have no effect.
Status apply_override(Spec& spec, std::string_view assignment);

// The resolved specification: every key with its value, then the tables.
// parse_spec() of it is equal to `spec`.
std::string to_toml(const Spec& spec);

}  // namespace ballast::experiment
