#pragma once
// A check of all values, block by block on several threads.

#include <atomic>
#include <cstddef>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"

namespace ballast::kernels::cpu {

// Whether check(begin, count) holds for every block; it is called for each, whatever the others
// say.
template <typename Check>
bool holds_for_blocks(std::size_t size, std::size_t threads, const Check& check) {
  const Blocks blocks(size);
  std::atomic<bool> holds{true};
  parallel_for(threads, blocks.count(), [&](std::size_t block) {
    const std::size_t begin = blocks.begin(block);
    if (!check(begin, blocks.end(block) - begin)) holds = false;
  });
  return holds;
}

}  // namespace ballast::kernels::cpu
