#pragma once
// Private to `ballast bench serve`: counts what workers, a thread each, get done in a given time.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "apps/ballast/bench_serve.h"
#include "ballast/base/error.h"

namespace ballast::apps {

// What the workers of a measurement share.
struct Floor {
  std::atomic<std::uint64_t> updates = 0;
  std::atomic<std::size_t> ready = 0;  // workers that have sent their first update
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::optional<Error> failure;  // behind mutex; the first one

  void note_update(bool is_first) {
    ++updates;
    if (is_first) ++ready;
  }
  void fail(Error error) {
    const std::lock_guard lock(mutex);
    if (!stop && !failure) failure = std::move(error);
    stop = true;
  }
};

// Runs the workers, waits until all are at work, and counts for the time that was asked for.
class Measurement {
 public:
  using Work = std::function<Status(std::size_t worker, Floor& floor)>;

  Measurement(const ServeBenchOptions& options, Work work)
      : options_(options), work_(std::move(work)) {}

  // Calls hang_up() when the time is over, so that workers that wait for an answer return. The
  // first failure of a worker before that, or workers that do not get to work, are an error.
  Result<ServeBenchResult> run(const std::function<void()>& hang_up);

 private:
  ServeBenchResult count();

  const ServeBenchOptions& options_;
  const Work work_;
  Floor floor_;
  std::vector<std::thread> threads_;
};

}  // namespace ballast::apps
