#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>

#include "apps/ballast/commands.h"
#include "ballast/service/run_folder.h"

namespace ballast::apps {
namespace {

struct ExportFlags {
  std::string folder;
  std::string out;
};

Status run_export(const ExportFlags& flags) {
  const std::filesystem::path out = flags.out.empty() ? "model.safetensors" : flags.out;
  BALLAST_TRY(const service::ExportReport report, service::export_model(flags.folder, out));
  std::string text = fmt::format("wrote {}: the model of {} after {} updates, from generation {}\n",
                                 out.string(), report.run, report.accepted, report.generation);
  if (report.has_initial_statistics) {
    text +=
        "no worker had a row then, so its batch-normalisation statistics are those of the start; "
        "the model.safetensors that the server wrote at its end has the right ones\n";
  }
  return print(text);
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "write the model that a state folder holds");
  command->footer(
      "\nTakes the newest intact checkpoint of the folder and writes its model as safetensors, "
      "with\n"
      "the layers and the normalisation of the input in the metadata (docs/models.md). The server\n"
      "may be running, and the data need not be here.\n"
      "\n"
      "  ballast export state --out model.safetensors\n");
  command->add_option("DIR", flags->folder, "folder of a run, as in serve --state")->required();
  command->add_option("--out", flags->out, "file to write [model.safetensors]");
  command->callback([flags, &action] { action = [flags] { return run_export(*flags); }; });
}

}  // namespace ballast::apps
