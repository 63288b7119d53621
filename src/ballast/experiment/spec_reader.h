#pragma once
// Reads the entries of one source of settings, a file or an override, into a specification.

#include <filesystem>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"
#include "ballast/experiment/toml_document.h"

namespace ballast::experiment {

inline constexpr std::string_view kGridKey = "grid";
inline constexpr std::string_view kCurveKey = "curve";
inline constexpr std::string_view kLabelKey = "label";

struct Source {
  std::string file;              // what errors call it
  std::string override_text;     // "--set key=value", empty for a file
  std::filesystem::path folder;  // that relative file names start from
};

class SpecReader {
 public:
  explicit SpecReader(Source source) : source_(std::move(source)) {}

  // A key at the top, the table [grid], whose keys replace those of a grid that is there, or the
  // tables [[curve]], which are added. On an error the specification may be half changed.
  Status read(Spec& spec, const TomlEntry& entry) const;

 private:
  Status read_grid(Spec& spec, const TomlEntry& grid) const;
  Result<Axis> read_axis(const TomlEntry& entry) const;
  Status read_curves(Spec& spec, const TomlEntry& curves) const;
  Result<Curve> read_curve(const TomlNode& node) const;
  Result<Setting> read_setting(const TomlEntry& entry) const;
  Result<Setting> read_choice(const Key& key, const TomlNode& node, std::string origin) const;
  Result<const Key*> key_of_a_run(std::string_view name, std::string_view origin) const;
  std::string origin(std::string_view key, std::size_t line, const TomlNode& node) const;

  Source source_;
};

// Puts the origin in front of the error.
tl::unexpected<Error> error_at(std::string_view origin, const Error& error);
tl::unexpected<Error> error_at(std::string_view origin, std::string_view message);

}  // namespace ballast::experiment
