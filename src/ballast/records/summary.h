#pragma once
// What the runs came to: one line per curve of each panel, over its seeds.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/records/records.h"

namespace ballast::records {

struct Spread {
  double mean = 0.0;
  double deviation = 0.0;  // of a sample, with n - 1 in the denominator; 0 for a single value
  double min = 0.0;
  double max = 0.0;
};

// Requires: at least one value.
Spread spread_of(std::span<const double> values);

// The runs of one curve in one panel that were evaluated at least once.
struct CurveSummary {
  std::string panel = {};
  std::string curve = {};
  std::vector<std::uint64_t> seeds = {};
  Spread final_accuracy = {};       // of the last evaluations
  double best_accuracy = 0.0;       // of all evaluations of all seeds
  std::uint64_t t = 0;              // the smallest t among the last evaluations
  double seconds = 0.0;             // mean over the seeds
  double updates_per_second = 0.0;  // all updates over all seconds; 0 where no time was measured
  std::size_t diverged = 0;         // how many of the runs
  std::size_t interrupted = 0;      // how many of the runs
};

// Panels in the order they first occur in, and so the curves of each panel. Records without an
// evaluation are left out.
std::vector<CurveSummary> summarise(std::span<const RunRecord> records);

// summary.json: {"curves": [...]} with the members of CurveSummary. What is not finite is null.
Result<std::string> summary_json(std::span<const RunRecord> records);
// The same entries, one JSON object per line.
Result<std::string> summary_lines(std::span<const RunRecord> records);
Status write_summary(const std::filesystem::path& path, std::span<const RunRecord> records);

// A table for the terminal, panel by panel, one line per curve: final accuracy in per cent with its
// deviation, best accuracy, updates, updates per second and seeds. Empty without evaluations.
std::string result_table(std::span<const RunRecord> records);

}  // namespace ballast::records
