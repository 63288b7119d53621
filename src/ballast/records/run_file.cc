#include "ballast/records/run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "ballast/files/error_text.h"
#include "ballast/files/text_file.h"

namespace ballast::records {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kStemBytesMax = 120;  // of the run name; file systems stop at 255
constexpr std::array<std::pair<RunStatus, std::string_view>, 3> kStatusNames = {{
    {RunStatus::kFinished, "finished"},
    {RunStatus::kInterrupted, "interrupted"},
    {RunStatus::kDiverged, "diverged"},
}};

bool is_safe_in_a_file_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// FNV-1a.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// JSON has no word for what is not finite, so these are texts.
Json to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json to_json(const Explanation& why) {
  Json json = Json::object();
  for (const ExplanationField& field : kExplanationFields) {
    json[std::string(field.name)] = to_json(why.*(field.member));
  }
  return json;
}

Json to_json(const EvaluationRecord& e) {
  Json json = {{"t", e.t},
               {"test_accuracy", to_json(e.test_accuracy)},
               {"test_loss", to_json(e.test_loss)},
               {"train_loss", to_json(e.train_loss)},
               {"byzantine_updates", e.byzantine_updates},
               {"staleness_mean", to_json(e.staleness_mean)},
               {"staleness_max", e.staleness_max},
               {"seconds", to_json(e.seconds)}};
  if (e.back_door) json["back_door"] = to_json(*e.back_door);
  if (e.why) json["why"] = to_json(*e.why);
  return json;
}

// Takes fields out of a JSON object and remembers the first that is missing or wrong, so that a
// record reads as a list of its fields.
class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}

  void read(const char* key, std::string& value) {
    if (const Json* found = find(key, &Json::is_string)) value = found->get<std::string>();
  }
  void read(const char* key, std::uint64_t& value) {
    if (const Json* found = find(key, &Json::is_number_unsigned)) value = found->get<uint64_t>();
  }
  void read(const char* key, double& value) {
    const Json* found = find(key, &Json::is_primitive);
    if (found == nullptr) return;
    if (found->is_number()) {
      value = found->get<double>();
    } else if (*found == "nan") {
      value = std::nan("");
    } else if (*found == "inf" || *found == "-inf") {
      value = *found == "inf" ? HUGE_VAL : -HUGE_VAL;
    } else {
      fail(key);
    }
  }
  void read(const char* key, RunStatus& value) {
    std::string text;
    read(key, text);
    const auto named = [&](const auto& entry) { return entry.second == text; };
    const auto entry = std::ranges::find_if(kStatusNames, named);
    if (entry == kStatusNames.end()) return fail(key);
    value = entry->first;
  }

  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }

  // The object at the key; nothing without it.
  const Json* object(const char* key) { return has(key) ? find(key, &Json::is_object) : nullptr; }

  // The list at the key, or null.
  const Json* list(const char* key) { return find(key, &Json::is_array); }

  Status status() const {
    if (wrong_.empty()) return {};
    return invalid_argument(
        fmt::format("has no usable '{}'; delete the file, and the run is done again", wrong_));
  }

 private:
  const Json* find(const char* key, bool (Json::*has_type)() const noexcept) {
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    if (found != object_.end() && ((*found).*has_type)()) return &*found;
    fail(key);
    return nullptr;
  }
  void fail(const char* key) {
    if (wrong_.empty()) wrong_ = key;
  }

  const Json& object_;
  std::string wrong_;
};

Result<EvaluationRecord> parse_evaluation(const Json& json) {
  EvaluationRecord e;
  FieldReader fields(json);
  fields.read("t", e.t);
  fields.read("test_accuracy", e.test_accuracy);
  fields.read("test_loss", e.test_loss);
  fields.read("train_loss", e.train_loss);
  fields.read("byzantine_updates", e.byzantine_updates);
  fields.read("staleness_mean", e.staleness_mean);
  fields.read("staleness_max", e.staleness_max);
  fields.read("seconds", e.seconds);
  if (fields.has("back_door")) fields.read("back_door", e.back_door.emplace());
  const Json* const why = fields.object("why");
  BALLAST_TRY_STATUS(fields.status());
  if (why == nullptr) return e;
  FieldReader numbers(*why);
  e.why.emplace();
  for (const ExplanationField& field : kExplanationFields) {
    numbers.read(std::string(field.name).c_str(), (*e.why).*(field.member));
  }
  BALLAST_TRY_STATUS(numbers.status());
  return e;
}

Result<std::vector<std::filesystem::path>> json_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    if (entry->path().extension() == ".json") paths.push_back(entry->path());
  }
  if (failure && failure != std::errc::no_such_file_or_directory) {
    return io_error(
        fmt::format("{}: cannot list this folder: {}", folder.string(), failure.message()));
  }
  std::ranges::sort(paths);
  return paths;
}

Result<RunRecord> read_run(const std::filesystem::path& path) {
  BALLAST_TRY(const std::string text, files::read_text(path, kRunFileBytesMax));
  return files::naming(path, parse_run(text));
}

}  // namespace

std::string file_stem(const RunRecord& record) {
  std::string name = record.run.substr(0, kStemBytesMax);
  std::ranges::replace_if(
      name, [](char c) { return !is_safe_in_a_file_name(c); }, '-');
  if (name != record.run) name += fmt::format("-{:08x}", hash_of(record.run));
  return fmt::format("{}-seed{}", name, record.seed);
}

Result<std::string> run_json(const RunRecord& record) {
  Json json = {{"run", record.run},
               {"panel", record.panel},
               {"curve", record.curve},
               {"seed", record.seed},
               {"fingerprint", record.fingerprint}};
  const auto has_status = [&](const auto& entry) { return entry.first == record.status; };
  json["status"] = std::ranges::find_if(kStatusNames, has_status)->second;
  json["gradient_seconds"] = to_json(record.gradient_seconds);
  json["total_seconds"] = to_json(record.total_seconds);
  json["evaluations"] = Json::array();
  for (const auto& evaluation : record.evaluations) {
    json["evaluations"].push_back(to_json(evaluation));
  }
  try {
    return json.dump(1) + "\n";
  } catch (const Json::exception&) {
    return invalid_argument("the names of runs, panels and curves must be UTF-8");
  }
}

Result<RunRecord> parse_run(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  RunRecord record;
  FieldReader fields(json);
  fields.read("run", record.run);
  fields.read("panel", record.panel);
  fields.read("curve", record.curve);
  fields.read("seed", record.seed);
  fields.read("fingerprint", record.fingerprint);
  fields.read("status", record.status);
  fields.read("gradient_seconds", record.gradient_seconds);
  fields.read("total_seconds", record.total_seconds);
  const Json* const evaluations = fields.list("evaluations");
  BALLAST_TRY_STATUS(fields.status());
  for (const Json& evaluation : *evaluations) {
    BALLAST_TRY(record.evaluations.emplace_back(), parse_evaluation(evaluation));
  }
  return record;
}

Status write_run_file(const std::filesystem::path& folder, const RunRecord& record) {
  BALLAST_TRY(const std::string text, run_json(record));
  BALLAST_TRY_STATUS(files::make_folder(folder));
  return files::write_text(folder / (file_stem(record) + ".json"), text);
}

Result<std::vector<RunRecord>> load_finished_runs(const std::filesystem::path& folder,
                                                  const std::set<std::string>& fingerprints) {
  BALLAST_TRY(const auto paths, json_files(folder));
  std::vector<RunRecord> records;
  for (const auto& path : paths) {
    BALLAST_TRY(RunRecord record, read_run(path));
    const bool is_wanted = fingerprints.contains(record.fingerprint);
    if (is_wanted && record.status != RunStatus::kInterrupted) records.push_back(std::move(record));
  }
  return records;
}

Result<std::vector<StoredRun>> list_runs(const std::filesystem::path& folder) {
  BALLAST_TRY(const auto paths, json_files(folder));
  std::vector<StoredRun> runs;
  for (const auto& path : paths) {
    BALLAST_TRY(RunRecord record, read_run(path));
    if (record.status == RunStatus::kInterrupted) continue;
    runs.push_back({.path = path, .fingerprint = std::move(record.fingerprint)});
  }
  return runs;
}

}  // namespace ballast::records
