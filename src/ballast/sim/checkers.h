#pragma once
// Watches the invariants of a run at every arrival. It keeps its own account of what the server
// must know and compares; it never steers. Every test of a simulated run has one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/arrival.h"
#include "ballast/sim/observer.h"
#include "ballast/sim/share.h"

namespace ballast::sim {

struct CheckerOptions {
  Population workers = {};
  server::Reply reply = server::Reply::kNewest;
  server::WeightPolicy weights = server::CountWeights{};
  // Given: after t arrivals at most floor(share * t) may have been Byzantine. Schedules keep this;
  // traces and virtual time do not.
  std::optional<Share> share = std::nullopt;
};

// An error that names the arrival, as soon as one of these fails:
// - arrivals are numbered 1, 2, ..., time does not run backwards, and the share is kept;
// - an update names the model that its worker was given last, and its staleness is the number of
//   steps since then: at arrival t, if it was given at t_0 and every arrival steps, t - t_0 with
//   the paper's reply and t - t_0 - 1 with the newest model;
// - the reply is the model before or after the step, as the options say; a refused worker has
//   joined again, on the newest model;
// - the version is the number of steps;
// - a worker's count is the number of its accepted updates, it has a row exactly if that is
//   positive, and the counts add up to all accepted updates;
// - weights are what the policy says: counts, equal, or capped below the share of the f heaviest.
//
// Cost: O(workers) per arrival.
class InvariantChecker final : public Observer {
 public:
  // Requires: a server that no update has reached.
  InvariantChecker(const CheckerOptions& options, const server::ParameterServer& server);

  Result<Next> on_arrival(const ArrivalRecord& record,
                          const server::ParameterServer& server) override;

  std::uint64_t arrivals() const noexcept { return t_; }

 private:
  Status check_arrival(const ArrivalRecord& record);
  Status check_model(const ArrivalRecord& record, const server::ParameterServer& server);
  Status check_counts(const ArrivalRecord& record, const server::ParameterServer& server);
  Status check_weights(const server::ParameterServer& server) const;

  CheckerOptions options_;
  std::uint64_t t_ = 0;
  std::uint64_t byzantine_ = 0;
  Instant now_ = Instant::zero();
  std::uint64_t version_;
  std::vector<std::uint64_t> given_;   // version of the model that each worker has
  std::vector<std::uint64_t> counts_;  // accepted updates of each
};

}  // namespace ballast::sim
