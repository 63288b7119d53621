#include "ballast/experiment/results_folder.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "ballast/experiment/grid.h"
#include "ballast/experiment/run_checkpoint.h"
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

// What the folder holds that does not belong to the specification.
struct OtherRuns {
  std::vector<records::StoredRun> finished = {};
  std::vector<fs::path> under_way = {};  // folders of checkpoints
};

Result<OtherRuns> other_runs(const fs::path& folder, const std::set<std::string>& fingerprints) {
  OtherRuns others;
  BALLAST_TRY(others.finished, records::list_runs(folder / "runs"));
  std::erase_if(others.finished, [&](const records::StoredRun& run) {
    return fingerprints.contains(run.fingerprint);
  });
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder / "runs", none)) {
    if (entry.path().extension() != ".checkpoint") continue;
    const auto fingerprint = fingerprint_in(entry.path());
    if (fingerprint && !fingerprints.contains(*fingerprint)) {
      others.under_way.push_back(entry.path());
    }
  }
  return others;
}

std::string count_text(const OtherRuns& others) {
  const std::size_t finished = others.finished.size();
  const std::size_t under_way = others.under_way.size();
  if (under_way == 0) return fmt::format("{} {}", finished, finished == 1 ? "run" : "runs");
  if (finished > 0) return fmt::format("{} runs, {} under way,", finished + under_way, under_way);
  return fmt::format("{} {} under way", under_way, under_way == 1 ? "run" : "runs");
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
  BALLAST_TRY(const OtherRuns others, other_runs(folder, fingerprints));
  if (others.finished.empty() && others.under_way.empty()) return {};
  const std::string difference = told_by(folder, spec);
  return invalid_argument(fmt::format(
      "{} holds {} with other settings{}{}; name another folder with --out, or replace them with "
      "--force",
      assembly::to_printable(folder.string()), count_text(others), difference.empty() ? "" : ": ",
      difference));
}

Status remove_other_runs(const fs::path& folder, const std::set<std::string>& fingerprints) {
  BALLAST_TRY(const OtherRuns others, other_runs(folder, fingerprints));
  std::vector<fs::path> paths = others.under_way;
  for (const records::StoredRun& run : others.finished) {
    for (const char* extension : {".json", ".safetensors"}) {
      fs::path path = run.path;
      paths.push_back(path.replace_extension(extension));
    }
  }
  for (const fs::path& path : paths) {
    std::error_code failure;
    fs::remove_all(path, failure);
    if (failure) return io_error(fmt::format("{}: {}", path.string(), failure.message()));
  }
  return {};
}

}  // namespace ballast::experiment
