#include "ballast/verify/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "ballast/base/nearest_word.h"
#include "ballast/verify/claims.h"

namespace ballast::verify {
namespace {

constexpr TheoryClaim kRegistry[] = {
    {"definitions", "Section 3.2, Algorithm 1",
     "The rules compute what the paper defines: gm minimises the weighted sum of distances, cwmed "
     "takes the mean of the two neighbours where a prefix weighs exactly half, ctma keeps the "
     "nearest 1 - lambda of the weight and splits the last row.",
     check_definitions},
    {"constants", "Definition 3.1 with the square, Table 1, Lemma 3.1",
     "|x^ - x_G|^2 <= c rho^2 for every adversary of share lambda: c = (1 + lambda / (1 - 2 "
     "lambda))^2 for gm and cwmed, 60 lambda (1 + c) for ctma on them. As lambda falls, ctma's "
     "constant falls like lambda; those of gm and cwmed do not.",
     check_constants},
    {"attacks", "Appendix, Attack Simulations",
     "Byzantine workers send what the paper defines: the negative of their estimate, a multiple of "
     "it, -epsilon times the weighted mean of the honest rows, or that mean less z deviations.",
     check_attacks},
    {"algorithm", "Algorithm 2, Eq. (6)",
     "The server does what each line says, at every arrival: weights are counts, rows stay, the "
     "direction is the rule's of these, w steps by eta t and is projected, x is the average of all "
     "w with weights t, and the reply is x_t.",
     check_algorithm},
    {"martingale", "Proof of Theorem 4.1, Eq. (9) and (13), Lemma B.2",
     "s eps = M_1 + ... + M_s for every honest worker of every run, up to rounding: the identity "
     "from which the theorem follows. The M are uncorrelated: E|sum M|^2 = sum E|M|^2.",
     check_martingale},
    {"estimator", "Theorem 4.1",
     "E|eps_i|^2 <= sigma~^2 / s_i and E|sum_G s_i eps_i / t_G|^2 <= sigma~^2 / t_G, so both fall "
     "with slope -1, whatever the schedule; those of SGD and momentum do not fall.",
     check_estimator},
    {"query-points", "Lemma B.1, bias bounds Eq. (14) and (15)",
     "A model moves by at most 4 D tau / t in tau steps, so the gradients that honest rows "
     "estimate "
     "are at most 4 tau_max D L / t from the present one on average, and 8 tau_max D L / t from "
     "their mean.",
     check_query_points},
    {"aggregate", "Lemma 4.1",
     "E|d_t - grad f(x_t)|^2 <= O((1 + c m) sigma~^2 / t + (1 + c) (tau_max D L / t)^2) for the "
     "aggregated estimate under attack, with the proof's factors.",
     check_aggregate},
    {"regret", "Lemma B.4, Theorem B.1, Eq. (19) with Lemma B.6",
     "In every run: the regret of the steps that were taken is at most, and without a projection "
     "exactly, what Lemma B.4 says; the AnyTime inequality is an equality up to divergences; and "
     "the excess loss is below the bound that follows from the errors of the run.",
     check_regret},
    {"rate", "Theorem 4.2",
     "The excess loss falls at least like T^(-1/2) and stays below the proof's bound, for lambda "
     "up to 0.4 and every attack.",
     check_rate},
    {"noise-free", "Theorem 4.2 with sigma = 0",
     "Without noise every honest row is the exact gradient at its model, and the excess loss falls "
     "at least like 1 / T.",
     check_noise_free},
    {"dimension", "Remark 4.4",
     "With L, sigma, sigma_L and D fixed the excess loss does not grow with the dimension.",
     check_dimension},
    {"delay", "Theorem 4.2, the term L D^2 mu_max / T",
     "Without noise the excess loss grows at most linearly with the mean maximal delay.",
     check_delay},
    {"no-attack", "Remark 4.3",
     "At lambda = 0 ctma is the weighted mean, and the rate is no worse than that of asynchronous "
     "SGD.",
     check_no_attack},
    {"synchronous", "Remark 4.5",
     "In round robin, where delays are constant, T = R m updates are worth R synchronous rounds of "
     "m workers: the ratio of the excess losses does not grow with T.",
     check_synchronous},
    {"counter-examples", "Sections 1, 2 and 5",
     "Each part is needed: with equal weights under skewed arrivals, with the mean under attack, "
     "or without history the excess loss stops falling where the full method goes on.",
     check_counter_examples},
    {"flood", "docs/theory.md, capped weights",
     "With the f-cap the f heaviest workers never hold more than lambda of the weight, however "
     "fast they send, and the excess loss stays below the bound in which the honest weight takes "
     "the "
     "place of t_G; without it a flood breaks training.",
     check_flood},
};

}  // namespace

std::span<const TheoryClaim> claim_registry() noexcept { return kRegistry; }

Result<std::vector<TheoryClaim>> find_claims(std::string_view name) {
  if (name == "all") return std::vector<TheoryClaim>(std::begin(kRegistry), std::end(kRegistry));
  const auto* found = std::ranges::find(kRegistry, name, &TheoryClaim::name);
  if (found != std::end(kRegistry)) return std::vector<TheoryClaim>{*found};
  std::vector<std::string_view> names = {"all"};
  for (const TheoryClaim& claim : kRegistry) names.push_back(claim.name);
  const auto nearest = nearest_word(name, names);
  const std::string hint = nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
  return not_found(fmt::format("there is no claim '{}'{}", name, hint));
}

bool Check::holds() const noexcept {
  switch (relation) {
    case Relation::kAtMost:
      return measured.high <= limit;
    case Relation::kAtLeast:
      return measured.low >= limit;
    case Relation::kEqual:
      return measured.low >= limit - tolerance && measured.high <= limit + tolerance;
  }
  return false;
}

bool Check::can_fail() const noexcept {
  const bool above = possible.high > limit + tolerance, below = possible.low < limit - tolerance;
  if (relation == Relation::kEqual) return above || below;
  return relation == Relation::kAtMost ? above : below;
}

bool Findings::hold() const noexcept {
  return !checks.empty() && std::ranges::all_of(checks, &Check::holds);
}

}  // namespace ballast::verify
