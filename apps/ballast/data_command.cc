#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "apps/ballast/commands.h"
#include "ballast/data/catalog.h"
#include "ballast/data/fetch.h"

namespace ballast::apps {
namespace {

constexpr const char* kEveryDataset = "all";

struct GetFlags {
  std::string name;
  std::string folder;  // empty: the default one
  bool as_json = false;
};

std::uint64_t bytes_of(const data::KnownDataset& dataset) {
  std::uint64_t bytes = 0;
  for (const data::KnownFile& file : dataset.files) bytes += file.bytes;
  return bytes;
}

Status list_datasets(bool as_json) {
  std::string text;
  for (const data::KnownDataset& dataset : data::known_datasets()) {
    if (as_json) {
      const nlohmann::ordered_json line = {{"name", dataset.name},
                                           {"summary", dataset.summary},
                                           {"files", dataset.files.size()},
                                           {"bytes", bytes_of(dataset)}};
      text += line.dump() + "\n";
    } else {
      text += fmt::format("{:<16}{}\n", dataset.name, dataset.summary);
    }
  }
  return print(text);
}

// The folder's name may be any bytes; JSON takes only UTF-8.
std::string describe_json(std::string_view name, const data::FetchReport& report) {
  const nlohmann::ordered_json line = {
      {"name", name}, {"folder", report.folder.string()}, {"source", report.source}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Status get_dataset(const data::KnownDataset& dataset, const std::filesystem::path& root,
                   bool as_json) {
  data::FetchOptions options{.root = root};
  options.on_progress = [&dataset](std::string_view line) {
    fmt::print(stderr, "{}: {}\n", dataset.name, line);
  };
  BALLAST_TRY(const data::FetchReport report, data::fetch_dataset(dataset, options));
  return print(as_json ? describe_json(dataset.name, report)
                       : fmt::format("{}: {} (from {})\n", dataset.name, report.folder.string(),
                                     report.source));
}

// The data sets a name stands for.
Result<std::span<const data::KnownDataset>> datasets_called(const std::string& name) {
  if (name == kEveryDataset) return data::known_datasets();
  BALLAST_TRY(const data::KnownDataset* dataset, data::find_dataset(name));
  return std::span(dataset, 1);
}

Result<std::filesystem::path> folder_from(const GetFlags& flags) {
  if (flags.folder.empty()) return data::default_data_folder();
  return std::filesystem::path(flags.folder);
}

Status get_datasets(const GetFlags& flags) {
  BALLAST_TRY(const auto datasets, datasets_called(flags.name));
  BALLAST_TRY(const std::filesystem::path root, folder_from(flags));
  for (const data::KnownDataset& dataset : datasets) {
    BALLAST_TRY_STATUS(get_dataset(dataset, root, flags.as_json));
  }
  return {};
}

void add_get_command(CLI::App& data, Action& action) {
  CLI::App* command = data.add_subcommand("get", "Bring a data set to this machine");
  const auto flags = std::make_shared<GetFlags>();
  command->add_option("NAME", flags->name, "A name of 'ballast data list', or all")->required();
  command->add_option("--dir", flags->folder,
                      "Where the data set's folder goes [$BALLAST_DATA, else ~/.cache/ballast]");
  command->add_flag("--json", flags->as_json, "One JSON object per data set");
  command->footer(
      "Files that are there and intact are kept. The others come from the first source that\n"
      "delivers them whole: each is checked by its SHA-256 before it takes its place.\n\n"
      "Example:\n  ballast data get mnist");
  command->callback([&action, flags] { action = [flags] { return get_datasets(*flags); }; });
}

void add_data_list_command(CLI::App& data, Action& action) {
  CLI::App* command = data.add_subcommand("list", "List every known data set");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "One JSON object per line");
  command->callback([&action, as_json] { action = [as_json] { return list_datasets(*as_json); }; });
}

}  // namespace

void add_data_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("data", "Get and list data sets");
  command->require_subcommand(1);
  add_get_command(*command, action);
  add_data_list_command(*command, action);
}

}  // namespace ballast::apps
