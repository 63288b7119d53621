#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "ballast/base/ieee_arithmetic.h"
#include "ballast/base/parallel.h"

namespace ballast {

void run_indexed(std::size_t threads, std::size_t count, IndexedTask task, void* context) {
  std::atomic<std::size_t> next{0};
  const auto drain = [&] {
    const IeeeArithmetic ieee;
    for (std::size_t index = next++; index < count; index = next++) task(context, index);
  };
  std::vector<std::jthread> helpers;
  for (std::size_t helper = 1; helper < std::min(threads, count); ++helper) {
    helpers.emplace_back(drain);
  }
  drain();
}

}  // namespace ballast
