#pragma once
// What gRPC promises about threads and the thread sanitizer cannot see.
//
// gRPC passes things from one thread to another: what was done before an operation is started has
// been done when its reaction runs. The libraries are not compiled for the thread sanitizer, which
// would therefore report a race there. A Handoff tells it of one such promise; other builds compile
// it to nothing.
//
// Each promise has a Handoff of its own. Reads and writes of one stream react at the same time, so
// one Handoff for both would promise an order that there is not, and hide the races it is for.
//
// Thread-safety: every function may be called from any thread.

#if defined(__SANITIZE_THREAD__)
#define BALLAST_SEES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BALLAST_SEES_THREADS 1
#endif
#endif

#ifdef BALLAST_SEES_THREADS
// Of the sanitizer's own library.
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace ballast::transport {

class Handoff {
 public:
  Handoff() = default;
  Handoff(const Handoff&) = delete;  // it is known by its address
  Handoff& operator=(const Handoff&) = delete;

#ifdef BALLAST_SEES_THREADS
  // Before gRPC is given something: all that this thread did so far ...
  void give() noexcept { __tsan_release(this); }
  // ... was done before what follows here, where gRPC gives it back.
  void take() noexcept { __tsan_acquire(this); }
#else
  void give() noexcept {}
  void take() noexcept {}
#endif
};

// One reaction of a stream: it comes after the stream was begun, and before OnDone().
class Reaction {
 public:
  Reaction(Handoff& begun, Handoff& over) noexcept : over_(over) { begun.take(); }
  ~Reaction() { over_.give(); }
  Reaction(const Reaction&) = delete;
  Reaction& operator=(const Reaction&) = delete;

 private:
  Handoff& over_;
};

}  // namespace ballast::transport
