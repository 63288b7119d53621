#include "ballast/experiment/claims.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ballast/sim/share.h"

namespace ballast::experiment {
namespace {

using Json = nlohmann::ordered_json;
using Summaries = std::vector<records::CurveSummary>;

// Accuracies are whole numbers of test samples, and sums of them round: a tie stays a tie.
constexpr double kRounding = 1e-9;

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

JudgedClaim judge(const Claim& claim, const PlannedRun& panel, const records::CurveSummary& better,
                  const records::CurveSummary& worse) {
  JudgedClaim judged{.claim = claim,
                     .panel = panel.panel,
                     .stated_share = panel.stated_share,
                     .share = panel.run.share,
                     .better = better.final_accuracy,
                     .worse = worse.final_accuracy,
                     .has_diverged = better.diverged > 0};
  const double lead = 100.0 * (judged.better.mean - judged.worse.mean);
  judged.holds = !judged.has_diverged && lead >= claim.margin - kRounding;
  return judged;
}

Json accuracy_json(const records::Spread& accuracy) {
  return {{"mean", 100.0 * accuracy.mean}, {"deviation", 100.0 * accuracy.deviation}};
}

Json to_json(int figure, const JudgedClaim& judged) {
  return {{"figure", figure},
          {"panel", judged.panel},
          {"claim", judged.claim.text},
          {"better", judged.claim.better},
          {"worse", judged.claim.worse},
          {"margin", judged.claim.margin},
          {"better_accuracy", accuracy_json(judged.better)},
          {"worse_accuracy", accuracy_json(judged.worse)},
          {"stated_share", judged.stated_share},
          {"share_run", judged.share},
          {"holds", judged.holds}};
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
      judged.push_back(judge(claim, *panel, *better, *worse));
    }
  }
  return judged;
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
