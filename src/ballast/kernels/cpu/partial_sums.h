#pragma once
// Adds up what the blocks of a threaded reduction found, in block order.

#include <cstddef>
#include <span>

#include "ballast/base/aligned.h"
#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"

namespace ballast::kernels::cpu {

// Calls work(block, sums) for each block with its own zeroed array of totals.size() doubles, then
// sets totals to the sum over the blocks, in order. Keeps its scratch memory per calling thread, so
// that only the first call of a size allocates.
template <typename Work>
void sum_over_blocks(const Blocks& blocks, std::span<double> totals, std::size_t threads,
                     Work&& work) {
  static thread_local AlignedVector<double> scratch;
  constexpr std::size_t kDoubles = kCacheLineBytes / sizeof(double);
  const std::size_t stride = (totals.size() + kDoubles - 1) / kDoubles * kDoubles;
  scratch.assign(blocks.count() * stride, 0.0);
  double* partial = scratch.data();
  parallel_for(threads, blocks.count(),
               [&](std::size_t block) { work(block, partial + block * stride); });
  for (double& total : totals) total = 0.0;
  for (std::size_t block = 0; block < blocks.count(); ++block) {
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += partial[block * stride + i];
  }
}

}  // namespace ballast::kernels::cpu
