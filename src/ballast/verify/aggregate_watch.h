#pragma once
// Watches how far the aggregated estimate is from the gradient, and the parts of that distance that
// the proof of Lemma 4.1 bounds one by one.

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
  struct Options {
    sim::Population workers = {};
    std::vector<std::uint64_t> times{};  // t at which it looks
  };

  // At each of the times; 0 where the run did not come so far. d is the rule applied to the
  // server's rows and weights, d_G the weighted mean of the honest rows.
  struct Noted {
    std::vector<double> error{};         // |d - grad f(x_t)|^2
    std::vector<double> honest_error{};  // |d_G - grad f(x_t)|^2
    std::vector<double> spread{};        // rho^2: weighted mean of |row - d_G|^2, honest rows
    std::vector<double> pull{};          // |d - d_G|^2
  };

  // The problem and the rule are borrowed. Requires: the paper's reply, which is x_t.
  AggregateWatch(const Problem& problem, const robust::Rule& rule, Options options);

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override;

  const Noted& noted() const noexcept { return noted_; }

 private:
  Status note(std::size_t place, const WeightedRows& rows, const WeightedRows& honest,
              std::span<const float> model);

  const Problem& problem_;
  const robust::Rule& rule_;
  Options options_;
  Noted noted_;
  RuleBench bench_;
};

}  // namespace ballast::verify
