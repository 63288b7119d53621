#pragma once
// The parts of Ballast that the claims are checked on. The defaults are the library's own; a mutant
// (mutants.h) replaces one by one with a bug, and some claim must then fail.

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "ballast/attacks/registry.h"
#include "ballast/base/error.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/robust/registry.h"
#include "ballast/server/parameter_server.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/observer.h"
#include "ballast/verify/problem.h"

namespace ballast::verify {

// Stands between the workers and the problem and sees the arrivals.
class SourceBetween : public worker::GradientSource, public sim::Observer {};

struct Components {
  std::function<Result<robust::RulePointer>(std::string_view)> make_rule = robust::parse_rule;

  std::function<server::WeightPolicy(const server::WeightPolicy&)> choose_weights =
      [](const server::WeightPolicy& asked) { return asked; };

  std::function<server::Reply(server::Reply)> choose_reply = [](server::Reply asked) {
    return asked;
  };

  std::function<Result<attacks::AttackPointer>(std::string_view)> make_attack =
      attacks::make_attack;

  // Who arrives when, given who should.
  std::function<std::vector<sim::Arrival>(std::vector<sim::Arrival>, const sim::Population&)>
      change_arrivals =
          [](std::vector<sim::Arrival> asked, const sim::Population&) { return asked; };

  std::function<Result<optim::ServerOptimizerPointer<float>>(
      const optim::StepOptions&, const optim::Averaging&, std::vector<float>)>
      make_optimizer = optim::make_mu2_server<float>;

  // One for each run; nothing: workers ask the problem itself.
  std::function<std::unique_ptr<SourceBetween>(Problem&)> make_source = {};
};

}  // namespace ballast::verify
