// Compiled without the thread sanitizer, which is told here what to take for a thread: the state
// below belongs to all fibers.

#include "tests/emulated_cuda/block.h"

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#if defined(BALLAST_EMULATED_THREADS)
#include <sanitizer/tsan_interface.h>
#elif defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulated_cuda {
namespace {

namespace context = boost::context::detail;

[[noreturn]] void fail(const char* what, unsigned thread) {
  std::fprintf(stderr, "emulated CUDA: thread %u %s\n", thread, what);
  std::abort();
}

// ---- what sanitizers are told

#if defined(BALLAST_EMULATED_THREADS)
// What happened before leaving is seen by those who arrive at this place later.
void leave_word(void* place) { __tsan_release(place); }
void hear_word(void* place) { __tsan_acquire(place); }
#else
void leave_word(void*) {}
void hear_word(void*) {}
#endif

// A stack with what runs on it.
class Fiber {
 public:
  // That of the caller.
  Fiber() {
#if defined(BALLAST_EMULATED_THREADS)
    known_as_ = __tsan_get_current_fiber();
#endif
  }
  explicit Fiber(void (*run)(context::transfer_t))
      : stack_(new std::byte[kStackBytes]),
        context_(context::make_fcontext(stack_.get() + kStackBytes, kStackBytes, run)) {
#if defined(BALLAST_EMULATED_THREADS)
    known_as_ = __tsan_create_fiber(0);
#elif defined(__SANITIZE_ADDRESS__)
    bottom_ = stack_.get();
    bytes_ = kStackBytes;
#endif
  }

  // Goes on with another one, until that comes back to this.
  void go_on_with(Fiber& other) {
#if defined(BALLAST_EMULATED_THREADS)
    __tsan_switch_to_fiber(other.known_as_, __tsan_switch_to_fiber_no_sync);
#elif defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_stack_, other.bottom_, other.bytes_);
#endif
    arrived(context::jump_fcontext(other.context_, this), *this);
  }

  // First of all on a stack.
  static void begin(context::transfer_t from, Fiber& self) { arrived(from, self); }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;

  static void arrived(context::transfer_t from, [[maybe_unused]] Fiber& self) {
    auto& before = *static_cast<Fiber*>(from.data);
    before.context_ = from.fctx;
#if !defined(BALLAST_EMULATED_THREADS) && defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(self.fake_stack_, &before.bottom_, &before.bytes_);
#endif
  }

  std::unique_ptr<std::byte[]> stack_;
  context::fcontext_t context_ = nullptr;
#if defined(BALLAST_EMULATED_THREADS)
  void* known_as_ = nullptr;
#elif defined(__SANITIZE_ADDRESS__)
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
#endif
};

// ---- a block

enum class Doing { kRunning, kWaitingForLanes, kWaitingForBlock, kEnded };

struct Thread {
  std::unique_ptr<Fiber> fiber;
  Doing doing = Doing::kEnded;
};

// Those who meet, the second time elsewhere than the first: who is through with one meeting may be
// at the next before the others have left.
struct Meeting {
  char word[2];
  unsigned turn = 0;
};

struct Warp {
  Meeting meeting;
  alignas(kSlotBytes) std::byte slots[2][kLanes][kSlotBytes];
};

// The one block that runs. Fibers are kept for the next ones.
struct Block {
  Place place;
  const std::function<void()>* kernel = nullptr;
  Fiber* outside = nullptr;
  Thread threads[kThreadsMax];
  unsigned count = 0;
  unsigned current = 0;
  Warp warps[kThreadsMax / kLanes];
  Meeting meeting;
  bool answers[2] = {};
  char begun = 0, ended = 0;
  std::unique_ptr<std::byte[]> shared;
  bool is_reversed = false;
};

Block& block() {
  static Block* const block = new Block;  // never deleted: its stacks are in use
  return *block;
}

void become(unsigned thread) {
  Block& b = block();
  b.current = thread;
  b.place.thread = dim3(thread % b.place.threads.x, thread / b.place.threads.x);
}

void wait(Doing what) {
  Block& b = block();
  Thread& self = b.threads[b.current];
  self.doing = what;
  self.fiber->go_on_with(*b.outside);
}

// A thread, and after it that of the same number in every later block.
void run_threads(context::transfer_t from) {
  Block& b = block();
  Thread& self = b.threads[b.current];
  Fiber::begin(from, *self.fiber);
  while (true) {
    hear_word(&b.begun);
    (*b.kernel)();
    leave_word(&b.ended);
    wait(Doing::kEnded);
  }
}

// Lets the threads of a warp run until all of them wait for the block or have ended.
void run_warp(unsigned first, unsigned last) {
  Block& b = block();
  while (true) {
    unsigned ran = 0, waiting = 0;
    for (unsigned i = first; i < last; ++i) {
      const unsigned thread = b.is_reversed ? first + (last - 1 - i) : i;
      if (b.threads[thread].doing == Doing::kRunning) {
        become(thread);
        b.outside->go_on_with(*b.threads[thread].fiber);
        ++ran;
      }
    }
    for (unsigned i = first; i < last; ++i) {
      waiting += b.threads[i].doing == Doing::kWaitingForLanes ? 1 : 0;
    }
    if (waiting == kLanes) {
      ++b.warps[first / kLanes].meeting.turn;
      for (unsigned i = first; i < last; ++i) b.threads[i].doing = Doing::kRunning;
    } else if (waiting > 0) {
      fail("belongs to a warp of which some lanes meet and others do not", first);
    } else if (ran == 0) {
      return;
    }
  }
}

void run_block() {
  Block& b = block();
  const unsigned warps = (b.count + kLanes - 1) / kLanes;
  for (unsigned i = 0; i < b.count; ++i) b.threads[i].doing = Doing::kRunning;
  while (true) {
    for (unsigned i = 0; i < warps; ++i) {
      const unsigned first = (b.is_reversed ? warps - 1 - i : i) * kLanes;
      run_warp(first, std::min(first + kLanes, b.count));
    }
    unsigned waiting = 0;
    for (unsigned i = 0; i < b.count; ++i) {
      waiting += b.threads[i].doing == Doing::kWaitingForBlock ? 1 : 0;
    }
    if (waiting == 0) return;
    if (waiting < b.count) fail("belongs to a block of which some threads wait for ended ones", 0);
    b.answers[++b.meeting.turn % 2] = false;
    for (unsigned i = 0; i < b.count; ++i) b.threads[i].doing = Doing::kRunning;
  }
}

}  // namespace

void run(const Shape& shape, const std::function<void()>& kernel) {
  Block& b = block();
  Fiber outside;
  b.outside = &outside;
  b.kernel = &kernel;
  b.count = shape.threads.x * shape.threads.y;
  b.place.threads = shape.threads;
  b.place.blocks = shape.blocks;
  b.shared.reset(new std::byte[shape.shared_bytes]);
  for (unsigned i = 0; i < b.count; ++i) {
    if (b.threads[i].fiber == nullptr) b.threads[i].fiber = std::make_unique<Fiber>(run_threads);
  }
  for (unsigned y = 0; y < shape.blocks.y; ++y) {
    for (unsigned x = 0; x < shape.blocks.x; ++x) {
      b.place.block = dim3(x, y);
      std::memset(b.shared.get(), 0xFF, shape.shared_bytes);  // floats that are not numbers
      leave_word(&b.begun);
      run_block();
      hear_word(&b.ended);
      b.is_reversed = !b.is_reversed;
    }
  }
  b.outside = nullptr;
}

const Place& here() {
  Block& b = block();
  if (b.outside == nullptr) fail("is none: this is device code", 0);
  return b.place;
}

void* shared_memory() { return block().shared.get(); }

bool block_barrier(bool answer) {
  Block& b = block();
  const unsigned turn = b.meeting.turn % 2;
  b.answers[turn] |= answer;
  leave_word(&b.meeting.word[turn]);
  wait(Doing::kWaitingForBlock);
  hear_word(&b.meeting.word[turn]);
  return b.answers[turn];
}

const std::byte* meet_lanes(const void* value, std::size_t bytes) {
  Block& b = block();
  Warp& warp = b.warps[b.current / kLanes];
  const unsigned turn = warp.meeting.turn % 2;
  if (bytes > 0) std::memcpy(warp.slots[turn][b.current % kLanes], value, bytes);
  leave_word(&warp.meeting.word[turn]);
  wait(Doing::kWaitingForLanes);
  hear_word(&warp.meeting.word[turn]);
  return warp.slots[turn][0];
}

}  // namespace emulated_cuda
