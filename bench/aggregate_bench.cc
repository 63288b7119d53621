// The public C++ call that python_overhead.py compares ballast.aggregate() with, on the same rows
// and on one thread. For every line that it reads it prints the fastest of half a second's calls,
// in microseconds, so that the two can be measured in turn.
//
// Usage: aggregate_bench RULE ROWS DIM FILE     the file holds the rows as they lie in memory

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ballast/rules.h"

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr std::chrono::milliseconds kSpan{500};
constexpr std::uintptr_t kPage = 4096;

// Memory as NumPy takes it: where malloc puts it, and in large pages.
std::vector<float> take(std::size_t count) {
  std::vector<float> values;
  values.reserve(count);
  const auto begin = (reinterpret_cast<std::uintptr_t>(values.data()) + kPage - 1) / kPage * kPage;
  const auto end = reinterpret_cast<std::uintptr_t>(values.data() + count) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  values.resize(count);
  return values;
}

int run(const std::string& text, std::size_t row_count, std::size_t dim, const char* file) {
  std::vector<float> values = take(row_count * dim);
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  std::vector<std::span<const float>> rows;
  for (std::size_t i = 0; i < row_count; ++i) rows.emplace_back(values.data() + i * dim, dim);
  const std::vector<double> weights(row_count, 1.0);
  std::vector<float> out = take(dim);
  auto aggregator =
      ballast::Aggregator::make(ballast::Rule::parse(text).value(), {.threads = 1}).value();
  for (std::string line; std::getline(std::cin, line);) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto end = Clock::now() + kSpan; Clock::now() < end;) {
      const auto begin = Clock::now();
      if (!aggregator.aggregate(rows, weights, out)) return 1;
      best = std::min(best, Microseconds(Clock::now() - begin).count());
    }
    std::printf("%.3f\n", best);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return run(argv[1], std::stoul(argv[2]), std::stoul(argv[3]), argv[4]);
}
