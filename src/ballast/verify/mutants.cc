#include "ballast/verify/mutants.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/base/nearest_word.h"
#include "ballast/verify/mutant_rules.h"
#include "ballast/verify/mutant_servers.h"
#include "ballast/verify/mutant_workers.h"
#include "ballast/verify/registry.h"
#include "ballast/verify/report.h"

namespace ballast::verify {
namespace {

void add_workers(std::vector<Mutant>& all) {
  all.push_back({"beta-off-by-one",
                 "beta = 1 / (k + 1)",
                 {"martingale"},
                 with_estimator({.beta = [](double k) { return 1.0 / (k + 1.0); }})});
  all.push_back({"beta-as-printed",
                 "beta = 1 twice, then 1 / (k - 1), as Algorithm 2 is printed",
                 {"martingale"},
                 with_estimator({.beta = [](double k) { return 1.0 / (k - 1.0); }})});
  all.push_back({"beta-constant",
                 "beta = 0.25 where 1 / k is claimed",
                 {"estimator"},
                 with_estimator({.beta = [](double) { return 0.25; }})});
  all.push_back({"previous-model-late",
                 "previous gradient one step late, as in the published code",
                 {"martingale", "noise-free"},
                 with_estimator({.is_point_late = true})});
  all.push_back({"previous-sample-fresh",
                 "previous gradient on another sample",
                 {"martingale"},
                 with_estimator({.is_sample_fresh = true})});
  all.push_back({"samples-shared",
                 "all workers draw the same samples",
                 {"martingale"},
                 with_shared_samples()});
  all.push_back({"replies-queued",
                 "replies queue up: each worker is as many behind as there are workers",
                 {"delay"},
                 with_queued_replies()});
  all.push_back({"gradients-rounded",
                 "gradients rounded to multiples of 1/32",
                 {"dimension"},
                 with_rounded_gradients(1.0 / 32.0)});
}

void add_rules(std::vector<Mutant>& all) {
  all.push_back({"median-upper",
                 "median takes the upper neighbour at an exact half",
                 {"definitions"},
                 with_upper_median()});
  all.push_back({"gm-three-steps",
                 "gm stops after three steps from zero, as in the published code",
                 {"definitions"},
                 with_gm("gm(iterations=3, start=zero)")});
  all.push_back({"ctma-keeps-farthest",
                 "ctma keeps the farthest rows",
                 {"definitions", "constants"},
                 with_ctma(TrimSlip::kKeepsTheFarthest)});
  all.push_back({"ctma-split-whole",
                 "ctma keeps the split row whole",
                 {"definitions"},
                 with_ctma(TrimSlip::kKeepsTheSplitRowWhole)});
  all.push_back({"ctma-split-dropped",
                 "ctma drops the split row",
                 {"definitions", "no-attack"},
                 with_ctma(TrimSlip::kDropsTheSplitRow)});
  all.push_back({"ctma-cuts-half",
                 "ctma cuts half of lambda",
                 {"constants"},
                 with_ctma(TrimSlip::kCutsHalf)});
  all.push_back({"rules-unweighted",
                 "rules ignore weights",
                 {"definitions", "constants"},
                 with_rules_that_drop_weights()});
  all.push_back({"weights-plus-one",
                 "every weight is one update too large",
                 {"algorithm"},
                 with_one_update_more()});
  all.push_back({"rows-averaged-twice",
                 "rows are averaged twice: the mean over their number",
                 {"algorithm"},
                 with_rows_averaged_twice()});
  all.push_back({"rule-mean", "every rule is the mean", {"aggregate", "rate"}, with_rule("mean")});
}

void add_servers(std::vector<Mutant>& all) {
  all.push_back({"aggregate-late",
                 "the step is along the aggregate of the table before",
                 {"algorithm", "aggregate"},
                 with_late_rules()});
  all.push_back(
      {"reply-newest", "the reply is x_{t+1}", {"algorithm"}, with_reply(server::Reply::kNewest)});
  all.push_back({"average-share-small",
                 "the newest w has the share 2 / (t + 3) in x",
                 {"algorithm", "regret"},
                 with_optimizer({.share = [](double t) { return 2.0 / (t + 3.0); }})});
  all.push_back({"average-share-large",
                 "the newest w has the share 4 / (t + 4) in x",
                 {"query-points"},
                 with_optimizer({.share = [](double t) { return 4.0 / (t + 4.0); }})});
  all.push_back({"alpha-plus-one",
                 "alpha = t + 1",
                 {"algorithm", "regret"},
                 with_optimizer({.alpha = [](double t) { return t + 1.0; }})});
  all.push_back(
      {"alpha-constant",
       "alpha = 1, and x follows by a tenth",
       {"query-points", "noise-free", "synchronous"},
       with_optimizer({.alpha = [](double) { return 1.0; }, .share = [](double) { return 0.1; }})});
  all.push_back({"eta-halved",
                 "eta is halved",
                 {"algorithm", "regret"},
                 with_optimizer({.eta_factor = 0.5})});
  all.push_back({"projection-missing",
                 "w is not projected",
                 {"algorithm"},
                 with_optimizer({.is_projected = false})});
  all.push_back({"projection-centre",
                 "w is projected onto the ball around the origin",
                 {"algorithm"},
                 with_optimizer({.forgets_centre = true})});
  all.push_back({"weights-equal",
                 "the server gives equal weights",
                 {"algorithm", "counter-examples"},
                 with_weights(server::UniformWeights{})});
  all.push_back({"cap-ignored",
                 "the server ignores the f-cap",
                 {"flood"},
                 with_weights(server::CountWeights{})});
  all.push_back({"liars-early",
                 "Byzantine updates come one arrival early",
                 {"algorithm"},
                 with_early_liars()});
  all.push_back(
      {"empire-sign", "empire has the wrong sign", {"attacks"}, with_empire_of_the_wrong_sign()});
  all.push_back(
      {"little-sign", "little has the wrong sign", {"attacks"}, with_little_of_the_wrong_sign()});
}

// The check that fails by most, relative to its limit.
std::optional<Check> worst_failure(const Findings& findings) {
  std::optional<Check> worst;
  for (const Check& check : findings.checks) {
    if (check.holds()) continue;
    if (!worst || margin(check) < margin(*worst)) worst = check;
  }
  return worst;
}

}  // namespace

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all;
  add_workers(all);
  add_rules(all);
  add_servers(all);
  return all;
}

Result<Mutant> find_mutant(std::string_view name) {
  std::vector<Mutant> all = all_mutants();
  const auto found = std::ranges::find(all, name, &Mutant::name);
  if (found != all.end()) return std::move(*found);
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const Mutant& mutant : all) names.push_back(mutant.name);
  const auto nearest = nearest_word(name, names);
  const std::string hint = nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
  return not_found(fmt::format("there is no mutant '{}'{}", name, hint));
}

Result<std::vector<MutantVerdict>> check_mutants(
    const Lab& lab, const std::vector<Mutant>& mutants,
    const std::function<void(std::string_view)>& on_mutant) {
  std::vector<MutantVerdict> verdicts;
  for (const Mutant& mutant : mutants) {
    if (on_mutant) on_mutant(mutant.name);
    Lab wrong = lab;
    wrong.components = mutant.components;
    wrong.has_mutant = true;
    for (const std::string_view claim : mutant.claims) {
      BALLAST_TRY(const auto claims, find_claims(claim));
      BALLAST_TRY(const auto checked, check_claims(claims, wrong));
      verdicts.push_back({.name = std::string(mutant.name),
                          .bug = std::string(mutant.bug),
                          .claim = std::string(claim),
                          .violated = worst_failure(checked[0].findings)});
    }
  }
  return verdicts;
}

std::vector<std::string> idle_claims(std::span<const MutantVerdict> verdicts) {
  std::vector<std::string> idle;
  for (const TheoryClaim& claim : claim_registry()) {
    const bool catches = std::ranges::any_of(verdicts, [&](const MutantVerdict& verdict) {
      return verdict.claim == claim.name && verdict.violated;
    });
    if (!catches) idle.emplace_back(claim.name);
  }
  return idle;
}

std::string mutant_table(std::span<const MutantVerdict> verdicts) {
  std::string table =
      "| mutant | bug | caught by | check | predicted | measured |\n|---|---|---|---|---|---|\n";
  for (const auto& [name, bug, claim, violated] : verdicts) {
    if (!violated) {
      table += fmt::format("| `{}` | {} | NOT CAUGHT by `{}` | | | |\n", name, bug, claim);
      continue;
    }
    std::string what;
    for (const char letter : violated->what) {
      if (letter == '|') what += '\\';
      what += letter;
    }
    table += fmt::format("| `{}` | {} | `{}` | {} | {} | {} |\n", name, bug, claim, what,
                         predicted_text(*violated), measured_text(*violated));
  }
  return table;
}

}  // namespace ballast::verify
