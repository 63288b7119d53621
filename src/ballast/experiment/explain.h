#pragma once
// What a rule makes of the rows of a server, seen from outside: how much of the Byzantine workers
// is in it, and how far its result is from what the honest ones say. The simulator knows who lies;
// a real server does not.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/kernels/backend.h"
#include "ballast/records/records.h"
#include "ballast/robust/rule.h"
#include "ballast/robust/workspace.h"
#include "ballast/server/parameter_server.h"
#include "ballast/sim/arrival.h"

namespace ballast::experiment {

// The rows that have a weight.
struct WeighedRows {
  std::size_t dim = 0;
  std::vector<const float*> pointers = {};  // borrowed, dim values each
  std::vector<double> weights = {};         // above 0
  std::vector<double> kept = {};            // fraction of each weight that the rule used
  std::vector<bool> is_byzantine = {};
  // The server's last one, borrowed; empty: what the rule makes of the rows.
  std::span<const float> direction = {};
};

class Explainer {
 public:
  // Refuses a text that is no rule.
  static Result<Explainer> make(std::string_view rule, const sim::Population& workers);

  // All members but the staleness, which the rows do not tell. NaN while no row has a weight, or no
  // honest one has. Weights, what was kept and the direction are the server's own.
  //
  // The coefficients of the geometric median follow from its result y: at a minimum they are in
  // proportion to weight / |y - row|, and where y is a row that row has all of it.
  //
  // Cost: gm from scratch, the rule too if the direction is not known, and four reads of the rows.
  Result<records::Explanation> explain(const WeighedRows& rows);
  Result<records::Explanation> explain(const server::ParameterServer& server);

 private:
  Explainer(robust::RulePointer rule, robust::RulePointer median, const sim::Population& workers);

  robust::RulePointer rule_;
  robust::RulePointer median_;
  sim::Population workers_;
  std::unique_ptr<kernels::Backend> backend_;
  robust::Workspace workspace_;
};

}  // namespace ballast::experiment
