#include "ballast/experiment/results_folder.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "ballast/experiment/grid.h"
#include "ballast/files/text_file.h"
#include "ballast/records/run_file.h"

namespace ballast::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDifferencesShown = 3;
constexpr std::size_t kValueCharactersMax = 60;

std::string shown(std::string text) {
  if (text.size() > kValueCharactersMax) text = text.substr(0, kValueCharactersMax) + "...";
  return assembly::to_printable(text);
}

// The runs of the folder that do not belong to the specification.
Result<std::vector<records::StoredRun>> other_runs(const fs::path& folder,
                                                   const std::set<std::string>& fingerprints) {
  BALLAST_TRY(auto runs, records::list_runs(folder / "runs"));
  std::erase_if(
      runs, [&](const records::StoredRun& run) { return fingerprints.contains(run.fingerprint); });
  return runs;
}

// What the folder's own specification says; empty if it is gone or cannot be read.
std::string told_by(const fs::path& folder, const Spec& spec) {
  const auto there = read_spec(folder / "spec.toml");
  return there ? difference_of(*there, spec) : "";
}

}  // namespace

std::string difference_of(const Spec& there, const Spec& here) {
  std::vector<std::string> differences;
  const auto note = [&](std::string_view key, const assembly::Value& left,
                        const assembly::Value& right) {
    if (left == right) return;
    differences.push_back(fmt::format("{} = {} there, {} here", key, shown(assembly::to_toml(left)),
                                      shown(assembly::to_toml(right))));
  };
  for (const assembly::Key& key : assembly::keys()) {
    if (key.is_of_run()) note(key.name, key.get(there.base), key.get(here.base));
  }
  note("seeds", assembly::Value(there.seeds), assembly::Value(here.seeds));
  if (there.panels != here.panels) differences.emplace_back("other [[panel]] tables");
  if (there.grid != here.grid) differences.emplace_back("another [grid]");
  if (there.curves != here.curves) differences.emplace_back("other [[curve]] tables");
  const std::size_t count = differences.size();
  differences.resize(std::min(count, kDifferencesShown));
  std::string text = fmt::format("{}", fmt::join(differences, "; "));
  if (count > kDifferencesShown) text += fmt::format("; {} more", count - kDifferencesShown);
  return text;
}

Status check_results_folder(const fs::path& folder, const Spec& spec,
                            const std::set<std::string>& fingerprints) {
  BALLAST_TRY(const auto others, other_runs(folder, fingerprints));
  if (others.empty()) return {};
  const std::string difference = told_by(folder, spec);
  return invalid_argument(
      fmt::format("{} holds {} {} with other settings{}{}; name another folder with --out, or "
                  "replace them with "
                  "--force",
                  assembly::to_printable(folder.string()), others.size(),
                  others.size() == 1 ? "run" : "runs", difference.empty() ? "" : ": ", difference));
}

Status remove_other_runs(const fs::path& folder, const std::set<std::string>& fingerprints) {
  BALLAST_TRY(const auto others, other_runs(folder, fingerprints));
  // Runs that were cut are not listed; what they saved is of the settings that are replaced.
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder / "runs", none)) {
    std::error_code ignored;
    if (entry.path().extension() == ".checkpoint") fs::remove_all(entry.path(), ignored);
  }
  for (const records::StoredRun& run : others) {
    for (const char* extension : {".json", ".safetensors"}) {
      fs::path path = run.path;
      std::error_code failure;
      fs::remove(path.replace_extension(extension), failure);
      if (failure) return io_error(fmt::format("{}: {}", path.string(), failure.message()));
    }
  }
  return {};
}

}  // namespace ballast::experiment
