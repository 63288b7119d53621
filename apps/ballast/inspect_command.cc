#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/ballast/commands.h"
#include "ballast/store/inspect.h"

namespace ballast::apps {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string folder;
  bool as_json = false;
};

// In UTC; the bare number where the calendar ends.
std::string time_text(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm calendar = {};
  if (gmtime_r(&time, &calendar) == nullptr) return std::to_string(seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", calendar);
}

// What a method tells of its workers, where it has a list of that name.
double number_of(const store::Manifest& manifest, std::string_view name, std::size_t worker) {
  for (const server::NamedNumbers& numbers : manifest.numbers) {
    if (numbers.name == name && worker < numbers.values.size()) return numbers.values[worker];
  }
  return 0.0;
}

std::size_t sender_count(const store::Manifest& manifest) {
  return static_cast<std::size_t>(std::ranges::count_if(
      manifest.senders,
      [](const server::SenderRecord& sender) { return sender.lifetime_count() > 0; }));
}

std::uint64_t incarnation(const store::FolderReport& report) {
  std::uint64_t last = report.incarnations.empty() ? 0 : report.incarnations.back().number;
  for (const auto& generation : report.generations) {
    if (generation.manifest) last = std::max(last, generation.manifest->incarnation);
  }
  return last;
}

Json to_json(const store::GenerationReport& generation) {
  Json json = {{"generation", generation.number},
               {"intact", generation.damage.empty()},
               {"damage", generation.damage},
               {"bytes", generation.bytes}};
  if (!generation.manifest) return json;
  const store::Manifest& manifest = *generation.manifest;
  json["created"] = time_text(manifest.created_s);
  json["run"] = manifest.run;
  json["config"] = manifest.shape.config;
  json["incarnation"] = manifest.incarnation;
  json["t"] = manifest.accepted_count;
  json["version"] = manifest.steps;
  json["dim"] = manifest.shape.dim;
  json["method"] = manifest.method;
  json["workers"] = Json::array();
  for (std::size_t i = 0; i < manifest.senders.size(); ++i) {
    const server::SenderRecord& sender = manifest.senders[i];
    const bool is_named = i < manifest.workers.size();
    json["workers"].push_back(
        {{"name", is_named ? Json(manifest.workers[i].name) : Json()},
         {"count", static_cast<std::uint64_t>(number_of(manifest, "counts", i))},
         {"lifetime_count", sender.lifetime_count()},
         {"sequence", sender.sequence}});
  }
  json["vectors"] = Json::array();
  for (const store::VectorEntry& vector : manifest.vectors) {
    json["vectors"].push_back({{"name", vector.name}, {"values", vector.value_count}});
  }
  return json;
}

std::string json_text(const store::FolderReport& report) {
  Json json = {{"incarnation", incarnation(report)},
               {"journal", {{"records", report.journal_count}, {"damage", report.journal_damage}}},
               {"generations", Json::array()}};
  for (const auto& generation : report.generations) {
    json["generations"].push_back(to_json(generation));
  }
  return json.dump() + "\n";
}

std::string table_line(const store::GenerationReport& generation) {
  const std::string verdict = generation.damage.empty() ? "intact" : generation.damage;
  if (!generation.manifest) return fmt::format("{:>10}  {}\n", generation.number, verdict);
  const store::Manifest& manifest = *generation.manifest;
  return fmt::format("{:>10}  {:<20}  {:>9}  {:>9}  {:>9}  {:>12}  {}\n", generation.number,
                     time_text(manifest.created_s), manifest.accepted_count, manifest.steps,
                     fmt::format("{}/{}", sender_count(manifest), manifest.senders.size()),
                     generation.bytes, verdict);
}

std::string counts_line(const store::Manifest& manifest) {
  constexpr std::size_t kShownMax = 16;
  std::string text = fmt::format("method: {}; accepted updates:", manifest.method);
  for (std::size_t i = 0; i < std::min(kShownMax, manifest.senders.size()); ++i) {
    text += fmt::format(" {}", manifest.senders[i].lifetime_count());
  }
  return text + (manifest.senders.size() > kShownMax ? " ... (all with --json)\n" : "\n");
}

std::string table_text(const store::FolderReport& report) {
  std::string text = fmt::format("{:>10}  {:<20}  {:>9}  {:>9}  {:>9}  {:>12}  {}\n", "generation",
                                 "created", "updates", "version", "workers", "bytes", "checksums");
  for (const auto& generation : report.generations) text += table_line(generation);
  for (const auto& generation : report.generations) {
    if (!generation.manifest) continue;
    const store::Manifest& manifest = *generation.manifest;
    text += fmt::format("run: {}; configuration: {}; {} parameters\n", manifest.run,
                        manifest.shape.config, manifest.shape.dim);
    text += counts_line(manifest);
    break;
  }
  text += fmt::format("incarnation: {}\n", incarnation(report));
  text += report.journal_damage.empty() ? fmt::format("journal: {} records\n", report.journal_count)
                                        : fmt::format("journal: {}\n", report.journal_damage);
  return text;
}

Status inspect(const Options& options) {
  BALLAST_TRY(const store::FolderReport report, store::inspect(options.folder));
  return print(options.as_json ? json_text(report) : table_text(report));
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Show what a checkpoint folder holds, and whether all of it is undamaged");
  const auto options = std::make_shared<Options>();
  command->add_option("dir", options->folder, "The folder of a run")->required();
  command->add_flag("--json", options->as_json, "As one JSON object");
  command->callback([&action, options] { action = [options] { return inspect(*options); }; });
}

}  // namespace ballast::apps
