#pragma once
// Reads the entries of one source of settings, a file or an override, into a specification.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/assembly/toml_document.h"
#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"

namespace ballast::experiment {

inline constexpr std::string_view kGridKey = "grid";
inline constexpr std::string_view kPanelKey = "panel";
inline constexpr std::string_view kCurveKey = "curve";
inline constexpr std::string_view kClaimKey = "claim";
inline constexpr std::string_view kLabelKey = "label";
inline constexpr std::string_view kStatedShareKey = "stated_share";
inline constexpr std::string_view kNeedsKey = "needs";
inline constexpr std::string_view kNotInKey = "not_in";
inline constexpr std::string_view kTextKey = "text";
inline constexpr std::string_view kBetterKey = "better";
inline constexpr std::string_view kWorseKey = "worse";
inline constexpr std::string_view kMarginKey = "margin";
inline constexpr std::string_view kWithinKey = "within";

struct SpecSource {
  std::string file;              // what errors call it
  std::string override_text;     // "--set key=value", empty for a file
  std::filesystem::path folder;  // that relative file names start from
};

class SpecReader {
 public:
  explicit SpecReader(SpecSource source) : source_(std::move(source)) {}

  // A key at the top, the table [grid], whose keys replace those of a grid that is there, or the
  // tables [[panel]], [[curve]] or [[claim]], which are added. On an error the specification may be
  // half changed.
  Status read(Spec& spec, const assembly::TomlEntry& entry) const;

 private:
  Status read_grid(Spec& spec, const assembly::TomlEntry& grid) const;
  Result<Axis> read_axis(const assembly::TomlEntry& entry) const;
  Status read_variants(std::vector<Variant>& variants, const assembly::TomlEntry& tables) const;
  Result<Variant> read_variant(std::string_view kind, const assembly::TomlNode& node) const;
  Status read_into(Variant& variant, const assembly::TomlEntry& entry) const;
  Status read_claims(std::vector<Claim>& claims, const assembly::TomlEntry& tables) const;
  Result<Claim> read_claim(const assembly::TomlNode& node) const;
  Status read_into(Claim& claim, const assembly::TomlEntry& entry) const;
  Result<const assembly::TomlNode::List*> tables_of(const assembly::TomlEntry& tables) const;
  Result<const assembly::TomlNode::Table*> entries_of(std::string_view kind,
                                                      const assembly::TomlNode& node) const;
  Result<std::vector<std::string>> read_labels(const assembly::TomlEntry& entry) const;
  Result<std::string> read_label(const assembly::TomlEntry& entry) const;
  Result<double> read_real(const assembly::TomlEntry& entry) const;
  Result<Setting> read_setting(const assembly::TomlEntry& entry) const;
  Result<Setting> read_choice(const assembly::Key& key, const assembly::TomlNode& node,
                              std::string origin) const;
  Result<const assembly::Key*> key_of_a_run(std::string_view name, std::string_view origin) const;
  std::string origin(std::string_view key, std::size_t line, const assembly::TomlNode& node) const;

  SpecSource source_;
};

// Puts the origin in front of the error.
tl::unexpected<Error> error_at(std::string_view origin, const Error& error);
tl::unexpected<Error> error_at(std::string_view origin, std::string_view message);

// Refuses a text of more than kTextBytesMax.
Status check_length(std::string_view text, std::string_view origin);

}  // namespace ballast::experiment
