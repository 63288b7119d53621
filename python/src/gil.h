#pragma once
// The interpreter's lock: given back while the library works, and taken when it calls Python back.
//
// At the end of a program Python ends daemon threads that ask for its lock, by unwinding their
// stacks: through nanobind and destructors, which no C++ program survives. Since 3.14 they sleep
// instead, and so they do here, with every version.

#include <nanobind/nanobind.h>

namespace ballast::python {

class WithoutLock {
 public:
  WithoutLock() noexcept : state_(PyEval_SaveThread()) {}
  ~WithoutLock();
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

// Around whatever the library calls of Python's, also where the thread has the lock already.
class WithLock {
 public:
  WithLock() noexcept;
  ~WithLock();
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// Sees to it that the end of the program waits for daemon threads that are inside a callback, where
// Python would unwind them, and lets none begin another. Once, when the module is loaded.
void end_callbacks_at_exit(nanobind::module_& module);

}  // namespace ballast::python
