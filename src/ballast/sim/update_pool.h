#pragma once
// Computes the updates of many workers on several threads.
//
// The caller's thread is one of them: while it waits for one update it computes the most urgent
// open one. What is computed does not depend on the number of threads, because a worker has at most
// one update under way and no two workers share what changes.
//
// Thread-safety: start() and finish() belong to one thread.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/update.h"
#include "ballast/worker/worker.h"

namespace ballast::sim {

class UpdatePool {
 public:
  // The workers are borrowed, and outlive the pool. Uses `threads` threads, the caller's included;
  // where the system refuses to start so many, the pool makes do with those it has.
  // Requires: threads >= 1.
  UpdatePool(std::span<worker::Worker> workers, std::size_t threads);

  // Waits for the updates that are being computed, and drops those that are not.
  ~UpdatePool();

  UpdatePool(const UpdatePool&) = delete;
  UpdatePool& operator=(const UpdatePool&) = delete;

  // Opens the worker's next update, on this model. Of the open ones, that with the smallest `due`
  // is computed first.
  // Requires: a worker that has none under way.
  void start(std::uint32_t worker, server::Snapshot model, std::uint64_t due);

  // The update that was started; valid until the worker's next start(). The error is the worker's.
  // Requires: start() was called for it, and finish() not since.
  Result<worker::WorkerUpdate> finish(std::uint32_t worker);

  // The same without taking it: finish() gives it once more. Valid until then.
  const Result<worker::WorkerUpdate>& wait_for(std::uint32_t worker);

  // Computes whatever is open, so that nothing is under way.
  void settle();

  // The update that was started and not yet taken; null if there is none.
  // Requires: settle() was called, and start() not since.
  const Result<worker::WorkerUpdate>* peek(std::uint32_t worker) const;

  // As if start() and the computation had been before.
  // Requires: a worker that has none under way.
  void put(std::uint32_t worker, const worker::WorkerUpdate& update, double seconds);

  // Seconds spent computing this worker's updates so far. A measurement: the only thing here that
  // differs from run to run.
  double seconds(std::uint32_t worker) const;

 private:
  struct Job {
    server::Snapshot model{};
    std::optional<Result<worker::WorkerUpdate>> result{};  // once it is there
    double seconds = 0.0;
  };

  // (due, worker), the most urgent on top.
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  void serve();
  void compute_most_urgent(std::unique_lock<std::mutex>& lock);

  std::span<worker::Worker> workers_;
  std::vector<Job> jobs_;      // of each worker
  std::size_t under_way_ = 0;  // opened, and not computed
  mutable std::mutex
      mutex_;  // guards open_, under_way_, is_stopping_, and of every job result and seconds
  std::condition_variable opened_;
  std::condition_variable computed_;
  Queue open_;
  bool is_stopping_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace ballast::sim
