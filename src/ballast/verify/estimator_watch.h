#pragma once
// Watches how far the honest rows are from the gradients that they estimate (Theorem 4.1).
//
// The proof writes the error of worker i after s updates as a sum, s eps = M_1 + ... + M_s, where
//   M_k = (g_k - grad f(x_k)) + (k - 1) ((g_k - grad f(x_k)) - (g~_k - grad f(x_{k-1})))
// are martingale differences: g_k and g~_k are the gradients of the k-th sample at the k-th model
// and at the one before. The samples are known from their keys, so the watch computes every M_k
// itself, and the identity holds for each single run, up to rounding.

#include <cstdint>
#include <span>
#include <vector>

#include "ballast/server/parameter_server.h"
#include "ballast/sim/observer.h"
#include "ballast/verify/problem.h"

namespace ballast::verify {

class EstimatorWatch final : public sim::Observer {
 public:
  struct Options {
    sim::Population workers = {};
    std::uint64_t seed = 1;               // of the samples
    std::vector<std::uint64_t> counts{};  // at which a worker's squared error is noted
    // Numbers of honest arrivals at which that of the weighted mean is noted.
    std::vector<std::uint64_t> times{};
    bool checks_identity = false;  // else no M_k is computed
  };

  // The problem is borrowed.
  EstimatorWatch(Problem& problem, Options options);

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override;

  // E|eps_i|^2 at each of the counts, averaged over the honest workers that came so far; 0 where
  // none did.
  std::vector<double> row_errors() const;

  // |sum_G s_i eps_i / t_G|^2 at t_G = each of the times.
  const std::vector<double>& mean_errors() const noexcept { return mean_errors_; }

  // |sum_G s_i eps_i|^2 now.
  double weighted_sum_squared() const;

  // The sum of |M_k|^2 over all updates of all honest workers. Requires: checks_identity.
  double sum_of_squares() const noexcept { return sum_of_squares_; }

  // The largest |s eps - sum of M_k| so far, relative to s times the largest gradient's length.
  double identity_gap() const noexcept { return identity_gap_; }

 private:
  struct Watched {
    std::vector<float> model{};     // that it computes on
    std::vector<float> previous{};  // that it computed on before; empty before the first update
    std::vector<double> error{};    // eps
    std::vector<double> sum{};      // of the M_k
    std::uint64_t count = 0;
  };

  void note_errors(const Watched& worker);
  Status check_identity(Watched& worker, std::uint32_t id);

  Problem& problem_;
  Options options_;
  std::vector<Watched> workers_;
  std::uint64_t honest_arrivals_ = 0;
  std::vector<double> row_sums_;
  std::vector<double> row_counts_;
  std::vector<double> mean_errors_;
  double identity_gap_ = 0.0;
  double sum_of_squares_ = 0.0;  // of all M_k
  double longest_gradient_ = 0.0;

  // Kept between calls.
  std::vector<float> gradient_, previous_gradient_;
  std::vector<double> expected_, previous_expected_;
};

}  // namespace ballast::verify
