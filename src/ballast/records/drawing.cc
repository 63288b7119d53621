#include "ballast/records/drawing.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "ballast/data/temporary_folder.h"
#include "ballast/files/text_file.h"

namespace ballast::embedded {

extern const std::string_view kPlotStyle;

}  // namespace ballast::embedded

namespace ballast::records {
namespace {

// The first python3 on the PATH need not be the one that has matplotlib.
constexpr std::string_view kInterpreters[] = {"python3", "/usr/bin/python3"};
constexpr std::chrono::minutes kTimeLimit{3};

// Runs the script in the folder, where it finds its data and leaves its pictures.
Status run_script(const std::filesystem::path& folder, const data::ProgramRunner& run) {
  Status first_failure;
  for (const std::string_view interpreter : kInterpreters) {
    Status status = run({.arguments = {std::string(interpreter), "script.py", "data.json", "plot"},
                         .folder = folder,
                         .time_limit = kTimeLimit});
    if (status) return {};
    if (first_failure) first_failure = std::move(status);
  }
  return unsupported(fmt::format("cannot draw the curves: {}; install python3-matplotlib",
                                 first_failure.error().message));
}

Status move_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code failure;
  std::filesystem::rename(from, to, failure);
  if (failure) return io_error(fmt::format("{}: {}", to.string(), failure.message()));
  return {};
}

}  // namespace

Status draw(const std::filesystem::path& folder, const Drawing& drawing,
            const data::ProgramRunner& run) {
  BALLAST_TRY_STATUS(files::make_folder(folder));
  // Inside the target, so that the pictures need not cross file systems.
  BALLAST_TRY(const auto workshop, data::TemporaryFolder::create(folder));
  BALLAST_TRY_STATUS(files::write_text(workshop.path() / "data.json", drawing.data));
  BALLAST_TRY_STATUS(files::write_text(workshop.path() / "plot_style.py", embedded::kPlotStyle));
  BALLAST_TRY_STATUS(files::write_text(workshop.path() / "script.py", drawing.script));
  BALLAST_TRY_STATUS(run_script(workshop.path(), run));
  for (const char* extension : {".png", ".svg"}) {
    BALLAST_TRY_STATUS(move_file(workshop.path() / (std::string("plot") + extension),
                                 folder / (drawing.stem + extension)));
  }
  return {};
}

}  // namespace ballast::records
