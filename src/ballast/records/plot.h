#pragma once
// Curves as pictures, drawn by matplotlib: the program carries the script and runs python3.

#include <filesystem>
#include <span>
#include <string>

#include "ballast/base/error.h"
#include "ballast/data/program.h"
#include "ballast/records/records.h"

namespace ballast::records {

struct FigureOptions {
  std::string stem = "curves";  // of the files
  std::string title = {};       // above all panels; none when empty
};

// What is drawn, as JSON: {"title", "panels": [{"title", "curves": [{"label", "t", "mean",
// "deviation"}]}]}. Accuracies are in per cent; mean and deviation are over the seeds that were
// evaluated at that t. Refuses records without any evaluation and text that is not UTF-8.
Result<std::string> plot_data(std::span<const RunRecord> records, const FigureOptions& options);

// Draws STEM.png and STEM.svg into the folder: one panel per panel text, test accuracy against t,
// the mean over the seeds with a band of one standard deviation on each side. Needs python3 with
// matplotlib but no display; an error says what is missing, and nothing is written then.
//
// Cost: a second or two, more when matplotlib runs for the first time.
// Determinism: the same records give the same SVG with the same matplotlib.
Status plot_curves(const std::filesystem::path& folder, std::span<const RunRecord> records,
                   const FigureOptions& options = {},
                   const data::ProgramRunner& run = data::run_program);

// The same of what the rules did: one column of pictures per panel, one row for each of four
// members of Explanation, the mean over the seeds.
Result<std::string> why_data(std::span<const RunRecord> records, const FigureOptions& options);
Status plot_why(const std::filesystem::path& folder, std::span<const RunRecord> records,
                const FigureOptions& options, const data::ProgramRunner& run = data::run_program);

}  // namespace ballast::records
