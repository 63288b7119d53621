#include "ballast/service/run_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "ballast/assembly/model_file.h"
#include "ballast/assembly/parts.h"
#include "ballast/files/error_text.h"
#include "ballast/files/text_file.h"
#include "ballast/learn/registry.h"
#include "ballast/store/inspect.h"

namespace ballast::service {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSpecName = "spec.toml";
constexpr std::string_view kInputName = "input.json";
constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;

void make_absolute(fs::path& path) {
  std::error_code ignored;
  if (!path.empty()) path = fs::absolute(path, ignored);
}

// A specification of this one run. File names of the working folder mean nothing in the state's.
experiment::Spec spec_of(const experiment::PlannedRun& planned) {
  experiment::Spec spec;
  spec.name = planned.name;
  spec.seeds = {planned.seed};
  spec.base = planned.run;
  assembly::RunSpec& run = spec.base;
  for (fs::path* path : {&run.data_dir, &run.train_images, &run.train_labels, &run.test_images,
                         &run.test_labels, &run.trace}) {
    make_absolute(*path);
  }
  if (assembly::is_model_file(run.model)) run.model = fs::absolute(run.model).string();
  return spec;
}

struct Description {
  assembly::RunSpec run;
  std::uint64_t seed = 0;
  assembly::ModelInput input;
};

Result<std::string> read_part(const fs::path& path) {
  auto text = files::read_text(path, kTextBytesMax);
  if (text) return text;
  return not_found(
      fmt::format("{}; the folder is not one of 'ballast serve', or of a version before 0.2: "
                  "resume it once to have the file written",
                  text.error().message));
}

Result<Description> read_description(const fs::path& folder) {
  BALLAST_TRY(const std::string spec_text, read_part(folder / kSpecName));
  BALLAST_TRY(const experiment::Spec spec, experiment::parse_spec(spec_text, folder / kSpecName));
  BALLAST_TRY(const std::string input_text, read_part(folder / kInputName));
  BALLAST_TRY(assembly::ModelInput input,
              files::naming(folder / kInputName, assembly::parse_model_input(input_text)));
  return Description{
      .run = assembly::resolve(spec.base), .seed = spec.seeds.front(), .input = std::move(input)};
}

std::vector<fs::path> names_in(const fs::path& folder) {
  std::vector<fs::path> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

}  // namespace

Status describe_run(const fs::path& folder, const Plan& plan) {
  BALLAST_TRY_STATUS(files::write_text(folder / kSpecName, to_toml(spec_of(plan.planned))));
  return files::write_text(folder / kInputName,
                           assembly::to_json(assembly::input_of(*plan.material.data.train)) + "\n");
}

Result<ExportReport> export_model(const fs::path& folder, const fs::path& out) {
  BALLAST_TRY(store::NewestState newest, store::read_newest(folder));
  BALLAST_TRY(Description described, read_description(folder));
  described.run.workers = newest.manifest.shape.worker_count;  // more may have come since
  BALLAST_TRY(const auto model, learn::make_model({.name = described.run.model,
                                                   .engine = described.run.engine,
                                                   .input = described.input.shape,
                                                   .class_count = described.input.class_count,
                                                   .hidden = described.run.hidden}));
  BALLAST_TRY(auto server, assembly::make_server(described.run, described.seed, *model));
  BALLAST_TRY_STATUS(files::naming(folder, server.restore(std::move(newest.state))));
  const store::Manifest& manifest = newest.manifest;
  ExportReport report{
      .run = manifest.run, .generation = manifest.generation, .accepted = manifest.accepted_count};
  auto statistics = server.statistics();
  if (!statistics) {
    statistics = model->initial_statistics();
    report.has_initial_statistics = !statistics->empty();
  }
  BALLAST_TRY_STATUS(assembly::write_model(
      out, *model, described.input,
      {.parameters = *server.model().values, .statistics = *statistics},
      {.run = manifest.run, .seed = described.seed, .updates = manifest.accepted_count}));
  return report;
}

FolderUndo::FolderUndo(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  is_new_ = !fs::exists(folder_, ignored);
  names_ = names_in(folder_);
}

void FolderUndo::undo() const {
  std::error_code ignored;
  for (const fs::path& name : names_in(folder_)) {
    if (std::ranges::find(names_, name) == names_.end()) fs::remove_all(folder_ / name, ignored);
  }
  if (is_new_) fs::remove(folder_, ignored);
}

}  // namespace ballast::service
