#pragma once
// Watches a server take the steps of Algorithm 2 and holds each line of it to what the paper says.
//
// Rows, counts and w are kept by the watch itself: of the server it takes the arriving row, the
// direction that the optimizer was given, and the models. A server that steps along another table's
// aggregate, weighs otherwise, averages otherwise or replies with another model is seen at the
// first step at which that makes a difference.

#include <cstdint>
#include <vector>

#include "ballast/server/parameter_server.h"
#include "ballast/sim/observer.h"
#include "ballast/verify/problem.h"
#include "ballast/verify/rows_of_numbers.h"
#include "ballast/verify/steps.h"

namespace ballast::verify {

class AlgorithmWatch final : public sim::Observer, public StepObserver {
 public:
  struct Options {
    sim::Population workers = {};
    double eta = 0.0;
    double share = 0.0;    // lambda
    bool is_ctma = false;  // the rule: ctma(cwmed, lambda), else cwmed
  };

  // The largest difference to each line so far, over all arrivals. Lengths are relative to D, those
  // of directions to the longest honest row.
  struct Gaps {
    double byzantine = 0.0;  // Byzantine updates above lambda t, Eq. (6)
    double weight = 0.0;     // line 5: between s and the server's weight
    double row = 0.0;        // line 5: rows of workers that did not arrive
    double direction = 0.0;  // line 7: the rule on these rows and counts
    double step = 0.0;       // line 7: w_{t+1}, from w_t and the direction
    double average = 0.0;    // line 7: x_{t+1}, from all w
    double reply = 0.0;      // line 8: x_t
  };

  // The problem is borrowed.
  AlgorithmWatch(const Problem& problem, const Options& options);

  void on_step(const StepRecord& record) override;
  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override;

  const Gaps& gaps() const noexcept { return gaps_; }

 private:
  void take_row(std::uint32_t worker, const server::ParameterServer& server);
  void compare_direction();
  void compare_step();
  double per_diameter(std::span<const double> a, std::span<const float> b) const;

  const Problem& problem_;
  Options options_;
  std::vector<std::vector<float>> rows_;  // empty before the first update
  std::vector<double> counts_;
  double arrivals_ = 0.0, byzantine_ = 0.0;
  // The last step, copied.
  double t_ = 0.0;
  std::vector<float> direction_, w_, x_, next_w_, next_x_;
  DoubleVector sum_;  // of alpha_k w_k
  Gaps gaps_;
};

}  // namespace ballast::verify
