#include "apps/ballast/bench_measurement.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace ballast::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{1};
constexpr std::chrono::milliseconds kStopPoll{20};  // of processes that are being measured
constexpr std::chrono::seconds kStartMax{60};
constexpr std::chrono::seconds kEndMax{10};

struct Unmap {
  void operator()(Floor* floor) const { munmap(floor, sizeof(Floor)); }
};
using SharedFloor = std::unique_ptr<Floor, Unmap>;

Result<SharedFloor> make_floor() {
  void* const memory =
      mmap(nullptr, sizeof(Floor), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return io_error("cannot share memory between processes");
  return SharedFloor(new (memory) Floor);
}

// Processes that die with this one, and at the latest when this object does.
class Processes {
 public:
  explicit Processes(Floor& floor) : floor_(floor) {}
  ~Processes() { end(); }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // The number of the new process, in which the function runs.
  Result<pid_t> start(const std::function<Status()>& work) {
    const pid_t parent = getpid();
    const pid_t id = fork();
    if (id < 0) return io_error("cannot start a process");
    if (id == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) {
        if (const Status done = work(); !done) floor_.fail(done.error().message);
      }
      _exit(0);  // what this process has inherited is not its to clean up
    }
    ids_.push_back(id);
    return id;
  }

  // Whether none has ended; one that has before the end is a failure.
  bool is_whole() {
    const std::size_t before = ids_.size();
    forget_ended();
    if (ids_.size() < before && !floor_.stop) floor_.fail("a process of the measurement has ended");
    return ids_.size() == before;
  }

  void end() {
    floor_.stop = true;
    const auto give_up = Clock::now() + kEndMax;
    for (; !ids_.empty() && Clock::now() < give_up; forget_ended()) {
      std::this_thread::sleep_for(kPoll);
    }
    for (const pid_t id : std::exchange(ids_, {})) {
      kill(id, SIGKILL);
      waitpid(id, nullptr, 0);
    }
  }

 private:
  void forget_ended() {
    std::erase_if(ids_, [](pid_t id) { return waitpid(id, nullptr, WNOHANG) == id; });
  }

  Floor& floor_;
  std::vector<pid_t> ids_;
};

// What a process has spent on all cores.
double processor_seconds(pid_t id) {
  clockid_t clock{};
  timespec spent{};
  if (clock_getcpuclockid(id, &clock) != 0 || clock_gettime(clock, &spent) != 0) return 0.0;
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

ServeBenchResult count(const ServeBenchOptions& options, const Floor& floor, Processes& processes,
                       pid_t server) {
  const std::uint64_t before = floor.updates;
  const double spent_before = processor_seconds(server);
  const Clock::time_point start = Clock::now();
  const auto end = start + std::chrono::duration<double>(options.seconds);
  while (Clock::now() < end && !floor.stop && processes.is_whole()) {
    std::this_thread::sleep_for(kPoll);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double spent = processor_seconds(server) - spent_before;
  const auto updates = static_cast<double>(floor.updates - before);
  const double rate = updates / seconds;
  return {.updates_per_second = rate,
          .bytes_per_second = rate * 2.0 * sizeof(float) * static_cast<double>(options.dim),
          .server_seconds_per_update = updates > 0 ? spent / updates : 0.0};
}

}  // namespace

void Floor::fail(std::string_view why) {
  // Whoever is interrupted by the end has not failed.
  if (!stop && !has_failed.exchange(true)) {
    std::ranges::copy(why.substr(0, kMessageMax), message);
  }
  stop = true;
}

void wait_for_stop(const Floor& floor) {
  while (!floor.stop) std::this_thread::sleep_for(kStopPoll);
}

Result<ServeBenchResult> Measurement::run() {
  BALLAST_TRY(const SharedFloor floor, make_floor());
  Processes processes(*floor);
  BALLAST_TRY(const pid_t server, processes.start([&] { return serve_(*floor); }));
  const auto give_up = Clock::now() + kStartMax;
  const auto is_waiting = [&] {
    std::this_thread::sleep_for(kPoll);
    return !floor->stop && processes.is_whole() && Clock::now() < give_up;
  };
  while (floor->port == 0 && is_waiting()) continue;
  for (std::size_t i = 0; i < options_.workers && floor->port != 0; ++i) {
    BALLAST_TRY_STATUS(processes.start([&] { return work_(i, *floor); }));
  }
  while (floor->ready < options_.workers && is_waiting()) continue;
  const bool is_ready = floor->ready == options_.workers;
  ServeBenchResult result;
  if (is_ready) result = count(options_, *floor, processes, server);
  processes.end();
  if (floor->has_failed) return io_error(floor->message);
  if (!is_ready) return io_error("the workers did not get to work within a minute");
  return result;
}

}  // namespace ballast::apps
