#pragma once
// Whether the results show what a specification claims.

#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/grid.h"
#include "ballast/experiment/spec.h"
#include "ballast/records/paired_difference.h"
#include "ballast/records/records.h"
#include "ballast/records/summary.h"

namespace ballast::experiment {

// One claim in one panel.
struct JudgedClaim {
  Claim claim;
  std::string panel = {};
  double stated_share = 0.0;
  double share = 0.0;  // that was run
  // Final accuracies over the seeds, as fractions.
  records::Spread better = {};
  records::Spread worse = {};
  // Better minus worse, seed by seed, in points of per cent.
  records::PairedDifference difference = {};
  bool has_diverged = false;  // some run of the better curve
  records::Finding finding = records::Finding::kNotDecided;

  // Whether the panel was run at the share that is stated for it.
  bool is_as_stated() const noexcept { return share == stated_share; }
};

// Every claim in every panel, panel by panel. The last evaluations of the two curves are compared
// seed by seed, over the seeds that both have, by a paired test (records/paired_difference.h). A
// claim fails where a run of the better curve diverged, however well that run stood before; of a
// diverged run of the worse curve the last evaluation counts. Where a curve was never evaluated,
// nothing is judged.
std::vector<JudgedClaim> judge_claims(const Spec& spec, std::span<const PlannedRun> plan,
                                      std::span<const records::RunRecord> records);

// "+1.20 [+0.80, +1.60]": the mean difference and its interval; without the interval for one seed.
std::string difference_text(const records::PairedDifference& difference);

// "2 or more", "within 1 either way": what a claim asks of the difference.
std::string demand_text(const Claim& claim);

// "0.4", or "1/3" for what has no short decimal.
std::string share_text(double share);

struct FigureClaims {
  int figure = 0;
  std::vector<JudgedClaim> claims;
};

// {"claims": [{"figure", "panel", "claim", "better", "worse", "margin" or "within",
// "better_accuracy", "worse_accuracy", "difference", "stated_share", "share_run", "finding"}]}, an
// accuracy being {"mean", "deviation"} in per cent and the difference {"seeds", "mean", "low",
// "high"} in points, an end that is not known being null. Text that is not UTF-8 is refused.
Result<std::string> claims_json(std::span<const FigureClaims> figures);

}  // namespace ballast::experiment
