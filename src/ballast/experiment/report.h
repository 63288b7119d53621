#pragma once
// The report on the reproduced figures: pictures, tables and claims on one page of HTML.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/claims.h"
#include "ballast/experiment/figures.h"
#include "ballast/records/records.h"

namespace ballast::experiment {

struct FigureResult {
  Figure figure;
  std::vector<records::RunRecord> records = {};
  std::vector<JudgedClaim> claims = {};
  std::string warning = {};  // why there is no picture; empty if there is one
};

struct ReportOptions {
  std::filesystem::path folder;  // holds the pictures: figN/curves.svg
  bool is_quick = false;
};

// The page. A figure with a warning is shown without its picture, with the warning instead.
Result<std::string> report_page(std::span<const FigureResult> figures,
                                const ReportOptions& options);

}  // namespace ballast::experiment
