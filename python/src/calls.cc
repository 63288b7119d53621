#include "python/src/calls.h"

#include <pthread.h>

namespace ballast::python {
namespace {

std::atomic<bool> is_child = false;

}  // namespace

void watch_for_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { is_child = true; });
  (void)registered;
}

bool is_forked_child() noexcept { return is_child; }

}  // namespace ballast::python
