#include "ballast/experiment/claims.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ballast/sim/share.h"

namespace ballast::experiment {
namespace {

using Json = nlohmann::ordered_json;
using Summaries = std::vector<records::CurveSummary>;

const records::CurveSummary* find(const Summaries& summaries, const std::string& panel,
                                  const std::string& curve) {
  const auto found = std::ranges::find_if(summaries, [&](const records::CurveSummary& summary) {
    return summary.panel == panel && summary.curve == curve;
  });
  return found == summaries.end() ? nullptr : &*found;
}

// The first run of each panel, which tells the panel's shares.
std::vector<const PlannedRun*> panels_of(std::span<const PlannedRun> plan) {
  std::vector<const PlannedRun*> panels;
  std::set<std::string_view> seen;
  for (const PlannedRun& planned : plan) {
    if (seen.insert(planned.panel).second) panels.push_back(&planned);
  }
  return panels;
}

// The final accuracy of each seed of one curve in one panel.
std::map<std::uint64_t, double> finals_of(std::span<const records::RunRecord> records,
                                          const std::string& panel, const std::string& curve) {
  std::map<std::uint64_t, double> finals;
  for (const records::RunRecord& record : records) {
    const bool is_meant = record.panel == panel && record.curve == curve;
    if (!is_meant || record.evaluations.empty()) continue;
    finals[record.seed] = record.evaluations.back().test_accuracy;
  }
  return finals;
}

records::PairedDifference difference_of(const Claim& claim, const std::string& panel,
                                        std::span<const records::RunRecord> records) {
  const auto worse = finals_of(records, panel, claim.worse);
  std::vector<double> points;
  for (const auto& [seed, accuracy] : finals_of(records, panel, claim.better)) {
    const auto other = worse.find(seed);
    if (other != worse.end()) points.push_back(100.0 * (accuracy - other->second));
  }
  return records::paired_difference(points);
}

records::Finding finding_of(const Claim& claim, const records::PairedDifference& difference) {
  return claim.within ? records::judge_equivalence(difference, *claim.within)
                      : records::judge_lead(difference, claim.margin);
}

JudgedClaim judge(const Claim& claim, const PlannedRun& panel, const records::CurveSummary& better,
                  const records::CurveSummary& worse, std::span<const records::RunRecord> records) {
  JudgedClaim judged{.claim = claim,
                     .panel = panel.panel,
                     .stated_share = panel.stated_share,
                     .share = panel.run.share,
                     .better = better.final_accuracy,
                     .worse = worse.final_accuracy,
                     .difference = difference_of(claim, panel.panel, records),
                     .has_diverged = better.diverged > 0};
  judged.finding =
      judged.has_diverged ? records::Finding::kFails : finding_of(claim, judged.difference);
  return judged;
}

Json accuracy_json(const records::Spread& accuracy) {
  return {{"mean", 100.0 * accuracy.mean}, {"deviation", 100.0 * accuracy.deviation}};
}

Json difference_json(const records::PairedDifference& difference) {
  const auto end = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"seeds", difference.pairs},
          {"mean", difference.mean},
          {"low", end(difference.low)},
          {"high", end(difference.high)}};
}

Json to_json(int figure, const JudgedClaim& judged) {
  const Claim& claim = judged.claim;
  const auto demand =
      claim.within ? std::pair("within", *claim.within) : std::pair("margin", claim.margin);
  return {{"figure", figure},
          {"panel", judged.panel},
          {"claim", claim.text},
          {"better", claim.better},
          {"worse", claim.worse},
          {demand.first, demand.second},
          {"better_accuracy", accuracy_json(judged.better)},
          {"worse_accuracy", accuracy_json(judged.worse)},
          {"difference", difference_json(judged.difference)},
          {"stated_share", judged.stated_share},
          {"share_run", judged.share},
          {"finding", to_text(judged.finding)}};
}

}  // namespace

std::vector<JudgedClaim> judge_claims(const Spec& spec, std::span<const PlannedRun> plan,
                                      std::span<const records::RunRecord> records) {
  const Summaries summaries = records::summarise(records);
  std::vector<JudgedClaim> judged;
  for (const PlannedRun* panel : panels_of(plan)) {
    for (const Claim& claim : spec.claims) {
      const auto* better = find(summaries, panel->panel, claim.better);
      const auto* worse = find(summaries, panel->panel, claim.worse);
      if (better == nullptr || worse == nullptr) continue;
      judged.push_back(judge(claim, *panel, *better, *worse, records));
    }
  }
  return judged;
}

std::string difference_text(const records::PairedDifference& difference) {
  std::string mean = fmt::format("{:+.2f}", difference.mean);
  if (!std::isfinite(difference.low)) return mean;
  return fmt::format("{} [{:+.2f}, {:+.2f}]", mean, difference.low, difference.high);
}

std::string demand_text(const Claim& claim) {
  if (claim.within) return fmt::format("within {} either way", *claim.within);
  return fmt::format("{} or more", claim.margin);
}

std::string share_text(double share) {
  constexpr std::size_t kDigitsMax = 6;
  std::string text = fmt::format("{}", share);
  if (text.size() <= kDigitsMax) return text;
  const auto fraction = sim::Share::make(share);
  if (!fraction || fraction->denominator() >= 1000) return fmt::format("{:.4f}", share);
  return fmt::format("{}/{}", fraction->numerator(), fraction->denominator());
}

Result<std::string> claims_json(std::span<const FigureClaims> figures) {
  Json claims = Json::array();
  for (const FigureClaims& figure : figures) {
    for (const JudgedClaim& judged : figure.claims) {
      claims.push_back(to_json(figure.figure, judged));
    }
  }
  try {
    return Json{{"claims", std::move(claims)}}.dump(2) + "\n";
  } catch (const Json::exception&) {
    return invalid_argument("the labels of panels and curves must be UTF-8");
  }
}

}  // namespace ballast::experiment
