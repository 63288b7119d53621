// The server itself stands still: a long step, a checkpoint, a process that was stopped. Nobody is
// to be blamed for it.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using server::Verdict;
using std::chrono::milliseconds;

// Stops this process for a while, as a hypervisor or an operator would.
void pause_for(milliseconds time) {
  const pid_t own = getpid();
  const pid_t helper = fork();
  if (helper == 0) {
    kill(own, SIGSTOP);
    usleep(static_cast<useconds_t>(1000 * time.count()));
    kill(own, SIGCONT);
    _exit(0);
  }
  waitpid(helper, nullptr, 0);
}

// In a process of its own: half an update has come when everything stands still for longer than a
// transfer may take and a worker may be silent.
[[noreturn]] void survive_a_pause() {
  TestSetting setting{.dim = 600'000, .worker_count = 2};
  setting.silence_max = milliseconds(1'500);
  setting.network.limits.stall_grace = milliseconds(1'500);
  setting.network.limits.bytes_per_second_min = std::uint64_t{1} << 30;
  NetworkServer server = start_server(setting);
  RawWorker worker(server, "w0");
  const auto header = worker.join(setting);
  if (!header || !worker.send_header(header->ticket())) std::exit(10);
  const Values ones(setting.dim, 1.0f);
  wire::PayloadWriter chunks(ones, {}, wire::Encoding::kFloat32);
  if (!worker.send_chunk(chunks.next())) std::exit(11);
  std::this_thread::sleep_for(milliseconds(100));
  pause_for(milliseconds(3'000));
  std::this_thread::sleep_for(milliseconds(300));  // for those who look for stalls
  while (!chunks.is_done()) {
    if (!worker.send_chunk(chunks.next())) std::exit(12);
  }
  if (worker.read_verdict() != Verdict::kAccepted) std::exit(13);
  if (server.counts().streams_stalled != 0) std::exit(14);
  std::_Exit(0);
}

TEST(Pause, OfTheServerIsNobodysSilence) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process without gRPC's threads
  EXPECT_EXIT(survive_a_pause(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ballast::transport
