#include "python/src/gil.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace ballast::python {
namespace {

constexpr std::chrono::seconds kCallbackWait{10};

std::atomic<bool> is_closed = false;  // to callbacks
std::atomic<int> callbacks = 0;       // under way, or waiting for the lock
thread_local int callbacks_here = 0;  // on this thread

[[noreturn]] void sleep_forever() {
  while (true) pause();
}

// Calls what takes the lock, from where Python unwinds the stack if the interpreter ends; nothing
// else is thrown there.
template <typename Take>
auto take_lock(Take&& take) {
  try {
    return take();
  } catch (...) {
    sleep_forever();
  }
}

bool is_main_thread() noexcept { return gettid() == getpid(); }

void end_callbacks() {
  is_closed = true;
  const WithoutLock released;
  const auto end = std::chrono::steady_clock::now() + kCallbackWait;
  while (callbacks > callbacks_here && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

WithoutLock::~WithoutLock() {
  take_lock([this] { PyEval_RestoreThread(state_); });
}

WithLock::WithLock() noexcept {
  ++callbacks;
  ++callbacks_here;
  state_ = take_lock([] { return PyGILState_Ensure(); });
  if (is_closed && !is_main_thread()) {
    PyEval_SaveThread();
    --callbacks;
    sleep_forever();
  }
}

WithLock::~WithLock() {
  PyGILState_Release(state_);
  --callbacks_here;
  --callbacks;
}

void end_callbacks_at_exit(nanobind::module_& module) {
  // A child has no other threads than the one that forked.
  pthread_atfork(nullptr, nullptr, [] { callbacks = callbacks_here; });
  module.def("end_callbacks", &end_callbacks);
  nanobind::module_::import_("atexit").attr("register")(module.attr("end_callbacks"));
}

}  // namespace ballast::python
