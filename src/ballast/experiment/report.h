#pragma once
// The report on the reproduced figures: pictures, tables and claims, as one page of HTML that needs
// nothing else and as the page of Markdown that docs/results.md is.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/claims.h"
#include "ballast/experiment/figures.h"
#include "ballast/records/html_report.h"
#include "ballast/records/records.h"

namespace ballast::experiment {

struct FigureResult {
  PaperFigure figure;
  std::vector<records::RunRecord> records = {};
  std::vector<JudgedClaim> claims = {};
  std::string warning = {};  // why there is no picture; empty if there is one
};

struct ReportOptions {
  std::filesystem::path folder;  // holds the pictures: figN/curves.svg
  bool is_quick = false;
  std::string command = {};  // that made the results
  std::string program = {};  // version and commit of the program that ran it
};

// A figure with a warning is shown without its picture, with the warning instead. Nothing in it
// depends on when or how fast the runs were made.
Result<records::ReportPage> make_report(std::span<const FigureResult> figures,
                                        const ReportOptions& options);

}  // namespace ballast::experiment
