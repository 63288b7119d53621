#pragma once
// A block of threads of a CUDA kernel, on one thread of the processor: each thread of the block is
// a fiber, which runs until it waits for others. So the order is the same in every run; it is the
// order of the threads' numbers in one block and the reverse in the next, since a device promises
// none.
//
// For the thread sanitizer each fiber is a thread, and only what a device makes wait for each other
// does: accesses to shared memory without a barrier between them are races there, as they are for
// compute-sanitizer's racecheck. What a kernel never does properly ends the program with a message:
// a barrier that some threads never reach, an exchange with lanes that have ended.

#include <cstddef>
#include <functional>

struct dim3 {  // as CUDA names it
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned across = 1, unsigned down = 1)  // NOLINT: not explicit, as in CUDA
      : x(across), y(down) {}
};

namespace emulated_cuda {

inline constexpr unsigned kLanes = 32, kThreadsMax = 1024;

struct Place {
  dim3 thread, block, threads, blocks;
};

struct Shape {
  dim3 blocks, threads;
  std::size_t shared_bytes;
};

// Runs the kernel in every thread of every block, one block after the other.
void run(const Shape& shape, const std::function<void()>& kernel);

// ---- for device code, in a thread of a block

const Place& here();
void* shared_memory();

// Waits for all threads of the block; whether any of them said yes.
bool block_barrier(bool answer);

// Waits for the lanes of the warp, each of which hands in a value of up to 16 bytes; lane l's is at
// kSlotBytes * l of what is returned, until the lanes meet again.
inline constexpr std::size_t kSlotBytes = 16;
const std::byte* meet_lanes(const void* value, std::size_t bytes);

}  // namespace emulated_cuda
