#pragma once
// How a call leaves Python: without the interpreter's lock, safe after a fork, and with an ear for
// Ctrl-C where it may take long.

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "python/src/gil.h"

namespace ballast::python {

// Begins to notice forks; once, when the module is loaded.
void watch_for_forks();

// Whether this process is the child of one that had imported the module.
bool is_forked_child() noexcept;

// Work on a thread of its own; what it throws comes out of ended.get().
struct Started {
  template <typename Work>
  explicit Started(Work& work) {
    std::packaged_task<void()> task([&work] { work(); });
    ended = task.get_future();
    thread = std::thread(std::move(task));
  }
  std::future<void> ended;
  std::thread thread;
};

// Runs the work without the interpreter's lock. OpenMP's threads do not survive a fork, and a child
// would wait for them forever; they belong to the thread that first used them, so that a new thread
// gets new ones. Requires: the work does not touch Python.
template <typename Work>
void without_lock(Work&& work) {
  const WithoutLock released;
  if (!is_forked_child()) {
    work();
    return;
  }
  Started fresh(work);
  fresh.thread.join();
  fresh.ended.get();
}

// Runs work that takes long on a thread of its own, while this one listens for signals. When a
// handler raises, as that of Ctrl-C does, `stop` is set, the work comes to its end, and the
// exception goes on.
template <typename Work>
void interruptible(std::atomic<bool>& stop, Work&& work) {
  Started worker(work);
  bool is_interrupted = false;
  while (true) {
    {
      const WithoutLock released;
      const auto state = worker.ended.wait_for(std::chrono::milliseconds(50));
      if (state == std::future_status::ready) worker.thread.join();
    }
    if (!worker.thread.joinable()) break;
    if (!is_interrupted && PyErr_CheckSignals() != 0) is_interrupted = stop = true;
  }
  if (is_interrupted) throw nanobind::python_error();
  worker.ended.get();
}

// Runs work whose callbacks look for signals themselves. Only the main thread can, and in a forked
// child the work is on another one; then this one listens.
template <typename Work>
void without_lock_listening(std::atomic<bool>& stop, Work&& work) {
  if (is_forked_child()) {
    interruptible(stop, work);
  } else {
    without_lock(work);
  }
}

}  // namespace ballast::python
