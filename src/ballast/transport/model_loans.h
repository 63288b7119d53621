#pragma once
// The models that gRPC has borrowed to send. It keeps the bytes until the peer's connection has
// taken them, also when the stream is over, and a peer need not take them at all. So a worker has
// at most two models on loan, the one being sent and the one before: when it would get a third,
// the connection that has had one for longest is reset, which gives the bytes back.
//
// Thread-safety: every function may be called from any thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "ballast/server/update.h"
#include "ballast/transport/connection_guard.h"

namespace ballast::transport {

class ModelLoans {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A model, alive as long as this is.
  class Loan {
   public:
    Loan(server::Snapshot model, std::shared_ptr<ConnectionGuard::Connection> connection)
        : model_(std::move(model)), connection_(std::move(connection)) {}
    const std::vector<float>& values() const noexcept { return *model_.values; }

   private:
    friend class ModelLoans;
    const server::Snapshot model_;
    const std::shared_ptr<ConnectionGuard::Connection> connection_;
    std::optional<Time> over_since_;  // behind the mutex of the loans: its stream has ended
  };

  // The guard outlives the loans.
  ModelLoans(std::size_t worker_count, std::size_t models_per_worker_max, ConnectionGuard& guard)
      : models_max_(models_per_worker_max), guard_(guard), loans_(worker_count) {}

  std::shared_ptr<Loan> lend(std::uint32_t worker, server::Snapshot model,
                             std::shared_ptr<ConnectionGuard::Connection> connection);

  // The stream of the loan is over; what gRPC still has of it is to come back soon.
  void set_over(Loan& loan, Time now);

  // Resets the connections that still have models of streams that were over before this time.
  void recall(Time over_before);

 private:
  using Loans = std::vector<std::weak_ptr<Loan>>;  // oldest first
  std::vector<std::shared_ptr<Loan>> alive(Loans& loans);

  const std::size_t models_max_;  // of each worker
  ConnectionGuard& guard_;
  std::mutex mutex_;
  std::vector<Loans> loans_;  // of each worker; behind mutex_
};

}  // namespace ballast::transport
