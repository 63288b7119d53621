#pragma once
// Watches how far the models that the rows were computed on are from the server's, and what that
// does to the gradients: Lemma B.1 and the bias bounds of Lemma 4.1's proof, Eq. (14) and (15).

#include <cstdint>
#include <vector>

#include "ballast/server/parameter_server.h"
#include "ballast/sim/observer.h"
#include "ballast/verify/problem.h"
#include "ballast/verify/rows_of_numbers.h"
#include "ballast/verify/steps.h"

namespace ballast::verify {

class QueryWatch final : public sim::Observer, public StepObserver {
 public:
  // A measured length over its bound, the largest so far, and the largest that it could have been:
  // two models are D apart at most. Only bounds below that are looked at.
  struct Share {
    double measured = 0.0;
    double possible = 0.0;

    void note(double length, double bound, double longest);
  };

  struct Shares {
    Share distance{};  // |x_t - x_t^(i)| over 4 D tau / t (Lemma B.1)
    // The same over D (1 - alpha_{1:t-tau} / alpha_{1:t}), which the lemma's proof gives before it
    // is rounded up.
    Share sharp{};
    Share bias{};         // |mean gradient - grad f(x_t)| over 4 tau_max D L / t (Eq. 14)
    Share worker_bias{};  // |grad f(x_t^(i)) - mean gradient| over 8 tau_max D L / t (Eq. 15)
  };

  // The problem is borrowed.
  QueryWatch(const Problem& problem, const sim::Population& workers);

  void on_step(const StepRecord& record) override;
  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override;

  const Shares& shares() const noexcept { return shares_; }

 private:
  struct Watched {
    std::vector<float> given{}, row_model{};  // that it computes on; that its row was computed on
    double given_at = 1.0, row_made_at = 0.0;
    double count = 0.0;
  };

  void compare_models(double t);
  void compare_gradients(double t);

  const Problem& problem_;
  sim::Population population_;
  std::vector<Watched> workers_;
  std::vector<float> x_;  // x_t
  Shares shares_;
};

}  // namespace ballast::verify
