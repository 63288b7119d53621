#include "apps/ballast/interrupt.h"

#include <csignal>

namespace ballast::apps {
namespace {

std::atomic<bool> was_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

extern "C" void note_interrupt(int) { was_interrupted = true; }

}  // namespace

const std::atomic<bool>& watch_for_interrupt() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return was_interrupted;
}

}  // namespace ballast::apps
