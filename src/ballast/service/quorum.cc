#include "ballast/service/quorum.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

namespace ballast::service {

QuorumFacts quorum_facts(const server::WeightPolicy& weights, std::size_t workers,
                         std::size_t workers_min) {
  const auto* capped = server::widest_cap(weights);
  return {.workers = workers,
          .quorum = std::max(server::quorum(weights), workers_min),
          .f = capped != nullptr ? capped->f : 0};
}

Status check_quorum(const QuorumFacts& facts, std::size_t workers_min) {
  if (workers_min > facts.workers) {
    return invalid_argument(fmt::format("--min-workers asks for {} workers, but the run has {}",
                                        workers_min, facts.workers));
  }
  // What the operator asks for on top is the operator's own decision, and gets a warning.
  if (workers_min >= facts.quorum || facts.workers >= facts.quorum + facts.f) return {};
  return invalid_argument(fmt::format(
      "{} of the {} workers could stop the training for good by staying away: the weights need "
      "ceil(f / share) = {} rows, so there must be at least {} workers; enrol more, or raise the "
      "share of the f-cap",
      facts.f, facts.workers, facts.quorum, facts.quorum + facts.f));
}

std::optional<std::string> weights_warning(const server::WeightPolicy& weights,
                                           const QuorumFacts& facts) {
  if (std::holds_alternative<server::CountWeights>(weights) && facts.workers > 1) {
    return "with weights = \"count\" one fast worker can come to hold any share of the weight; "
           "leave the key out, or take an f-cap";
  }
  if (facts.f > 0 && facts.workers < facts.quorum + facts.f) {
    return fmt::format("{} absent workers stop the training: {} of {} workers are needed", facts.f,
                       facts.quorum, facts.workers);
  }
  if (facts.f > 0 && facts.workers == facts.quorum + facts.f) {
    return fmt::format(
        "no slack: when more than {} of the {} workers are away the training stops, because it "
        "needs {}",
        facts.f, facts.workers, facts.quorum);
  }
  return std::nullopt;
}

}  // namespace ballast::service
