#pragma once
// Watches how far the aggregated estimate is from the gradient, and the parts of that distance that
// the proof of Lemma 4.1 bounds one by one.

#include <cstdint>
#include <vector>

#include "ballast/server/parameter_server.h"
#include "ballast/sim/observer.h"
#include "ballast/verify/problem.h"
#include "ballast/verify/rows_of_numbers.h"
#include "ballast/verify/steps.h"

namespace ballast::verify {

class AggregateWatch final : public sim::Observer, public StepObserver {
 public:
  struct Options {
    sim::Population workers = {};
    std::vector<std::uint64_t> times{};  // t at which it looks
  };

  // At each of the times; 0 where the run did not come so far. d is the direction that the server
  // really stepped along, d_G the mean of the honest rows, weighted by the updates that came.
  struct Noted {
    std::vector<double> error{};         // |d - grad f(x_t)|^2
    std::vector<double> honest_error{};  // |d_G - grad f(x_t)|^2
    std::vector<double> spread{};        // rho^2: weighted mean of |row - d_G|^2, honest rows
    std::vector<double> pull{};          // |d - d_G|^2
  };

  // The problem is borrowed.
  AggregateWatch(const Problem& problem, Options options);

  void on_step(const StepRecord& record) override;

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override;

  const Noted& noted() const noexcept { return noted_; }

 private:
  void note(std::size_t place, const WeightedRows& honest);

  const Problem& problem_;
  Options options_;
  std::vector<double> counts_;  // arrivals of each worker
  DoubleVector direction_;
  std::vector<float> x_;  // x_t
  Noted noted_;
};

}  // namespace ballast::verify
