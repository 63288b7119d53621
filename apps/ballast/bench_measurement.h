#pragma once
// Private to `ballast bench serve`: a server and its workers, each a process as in earnest, and
// what they get done in a given time.
//
// In one process they would share what gRPC has once per process, the set of sockets that it waits
// for and the threads that wait, and would measure that.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "apps/ballast/bench_serve.h"
#include "ballast/base/error.h"

namespace ballast::apps {

// What the processes have in common, in memory that stays so when a process forks.
struct Floor {
  static constexpr std::size_t kMessageMax = 500;

  std::atomic<std::uint16_t> port = 0;  // of the server, once it listens
  std::atomic<std::uint64_t> updates = 0;
  std::atomic<std::size_t> ready = 0;  // workers that have sent their first update
  std::atomic<bool> stop = false;
  std::atomic<bool> has_failed = false;
  char message[kMessageMax + 1] = {};  // of the first failure, before stop

  void note_update(bool is_first) {
    ++updates;
    if (is_first) ++ready;
  }
  void fail(std::string_view why);
};

class Measurement {
 public:
  // Says on which port it listens, and returns when floor.stop is set.
  using Serve = std::function<Status(Floor& floor)>;
  // Begins when there is a port; sends until floor.stop is set, or the server is gone after that.
  using Work = std::function<Status(std::size_t worker, Floor& floor)>;

  Measurement(const ServeBenchOptions& options, Serve serve, Work work)
      : options_(options), serve_(std::move(serve)), work_(std::move(work)) {}

  // Waits until all workers are at work, and counts for the time that was asked for. The first
  // failure before its end is an error, as are workers that do not get to work.
  //
  // Requires: no other thread, and nothing done with gRPC yet, neither of which survives a fork.
  Result<ServeBenchResult> run();

 private:
  const ServeBenchOptions& options_;
  const Serve serve_;
  const Work work_;
};

// Waits until it is set.
void wait_for_stop(const Floor& floor);

}  // namespace ballast::apps
