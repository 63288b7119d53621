#pragma once
// Watches how far the aggregated estimate is from the gradient (Lemma 4.1).

#include <cstdint>
#include <vector>

#include "ballast/robust/rule.h"
#include "ballast/server/parameter_server.h"
#include "ballast/sim/observer.h"
#include "ballast/verify/problem.h"
#include "ballast/verify/rows_of_numbers.h"

namespace ballast::verify {

class AggregateWatch final : public sim::Observer {
 public:
  // Notes |d_t - grad f(x_t)|^2 at these t, where d_t is the rule applied to the server's rows and
  // weights. The problem and the rule are borrowed. Requires: the paper's reply, which is x_t.
  AggregateWatch(const Problem& problem, const robust::Rule& rule,
                 std::vector<std::uint64_t> times);

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override;

  // At each of the times; 0 where the run did not come so far.
  const std::vector<double>& errors() const noexcept { return errors_; }

 private:
  const Problem& problem_;
  const robust::Rule& rule_;
  std::vector<std::uint64_t> times_;
  std::vector<double> errors_;
  RuleBench bench_;
};

}  // namespace ballast::verify
