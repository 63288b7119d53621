#pragma once
// How many workers a server on a network needs, and how many may stay away.
//
// With weights "f-cap(f, share)" the server steps once quorum = ceil(f / share) workers have a row:
// f of fewer equal workers would hold more than the share. The f workers that the cap is there for
// may stay away on purpose, so a run needs workers >= quorum + f, or they can stop it for good.

#include <cstddef>
#include <optional>
#include <string>

#include "ballast/base/error.h"
#include "ballast/server/weight_policy.h"

namespace ballast::service {

struct QuorumFacts {
  std::size_t workers = 0;
  std::size_t quorum = 1;  // rows that a step needs
  std::size_t f = 0;       // workers that may stay away; 0: the weights name none
};

// `workers_min` is what the operator asks for, beside what the weights need.
QuorumFacts quorum_facts(const server::WeightPolicy& weights, std::size_t workers,
                         std::size_t workers_min);

// Refuses a run that f absent workers would stop for good, and more workers_min than workers.
Status check_quorum(const QuorumFacts& facts, std::size_t workers_min);

// What an operator should know about the weights before workers come; none: nothing.
std::optional<std::string> weights_warning(const server::WeightPolicy& weights,
                                           const QuorumFacts& facts);

}  // namespace ballast::service
