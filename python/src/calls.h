#pragma once
// How a call leaves Python: without the interpreter's lock, safe after a fork, and with an ear for
// Ctrl-C where it may take long.

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace ballast::python {

// Begins to notice forks; once, when the module is loaded.
void watch_for_forks();

// Whether this process is the child of one that had imported the module.
bool is_forked_child() noexcept;

// Runs the work without the interpreter's lock. OpenMP's threads do not survive a fork, and a child
// would wait for them forever; they belong to the thread that first used them, so that a new thread
// gets new ones. Requires: the work does not throw and does not touch Python.
template <typename Work>
void without_lock(Work&& work) {
  const nanobind::gil_scoped_release released;
  if (!is_forked_child()) {
    work();
    return;
  }
  std::thread fresh([&] { work(); });
  fresh.join();
}

// Runs work that waits for others on a thread of its own, while this one listens for signals. When
// a handler raises, as that of Ctrl-C does, `stop` is set, the work comes to its end, and the
// exception goes on.
template <typename Work>
void interruptible(std::atomic<bool>& stop, Work&& work) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::thread worker([&] {
    work();
    const std::lock_guard lock(mutex);
    is_done = true;
    changed.notify_one();
  });
  bool is_interrupted = false;
  while (true) {
    {
      const nanobind::gil_scoped_release released;
      std::unique_lock lock(mutex);
      changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return is_done; });
      if (is_done) break;
    }
    if (!is_interrupted && PyErr_CheckSignals() != 0) {
      is_interrupted = true;
      stop = true;
    }
    if (is_interrupted) {
      const nanobind::gil_scoped_release released;
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return is_done; });
      break;
    }
  }
  worker.join();
  if (is_interrupted) throw nanobind::python_error();
}

}  // namespace ballast::python
