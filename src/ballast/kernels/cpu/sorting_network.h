#pragma once
// Batcher's merge-exchange sorting networks (Knuth, The Art of Computer Programming 3, algorithm
// 5.2.2M) for any number of elements: a fixed list of compare-exchanges, which is what a sort of
// many columns at once in SIMD lanes needs.

#include <array>
#include <cstddef>
#include <cstdint>

namespace ballast::kernels::cpu {

struct CompareExchange {
  std::uint32_t low;
  std::uint32_t high;
};

// Calls emit(low, high) for each compare-exchange of the network for n elements, in order.
template <typename Emit>
constexpr void for_each_exchange(std::size_t n, Emit&& emit) {
  std::size_t top = 1;
  while (2 * top < n) top *= 2;
  if (n < 2) return;
  for (std::size_t p = top; p > 0; p /= 2) {
    std::size_t q = top, r = 0, d = p;
    while (true) {
      for (std::size_t i = 0; i + d < n; ++i) {
        if ((i & p) == r) emit(i, i + d);
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

constexpr std::size_t exchange_count(std::size_t n) {
  std::size_t count = 0;
  for_each_exchange(n, [&](std::size_t, std::size_t) { ++count; });
  return count;
}

template <std::size_t n>
constexpr std::array<CompareExchange, exchange_count(n)> make_network() {
  std::array<CompareExchange, exchange_count(n)> network{};
  std::size_t next = 0;
  for_each_exchange(n, [&](std::size_t low, std::size_t high) {
    network[next++] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high)};
  });
  return network;
}

// Batcher's odd-even merge sort in the order of its recursion: [first, first + size) of n elements,
// size being a power of two. A few more exchanges than above, but each half is finished before the
// other begins, so that 16 registers go further.
template <typename Emit>
constexpr void for_each_exchange_by_halves(std::size_t first, std::size_t size, std::size_t n,
                                           Emit&& emit) {
  if (size < 2 || first >= n) return;
  const std::size_t half = size / 2;
  for_each_exchange_by_halves(first, half, n, emit);
  for_each_exchange_by_halves(first + half, half, n, emit);
  for (std::size_t i = 0; i < half; ++i) {
    if (first + i + half < n) emit(first + i, first + i + half);
  }
  for (std::size_t d = half / 2; d > 0; d /= 2) {
    for (std::size_t i = d; i < size - d; ++i) {
      if (i / d % 2 == 1 && first + i + d < n) emit(first + i, first + i + d);
    }
  }
}

// The network to sort n elements in registers: by halves where that costs nothing.
template <typename Emit>
constexpr void for_each_register_exchange(std::size_t n, Emit&& emit) {
  if (n < 25) return for_each_exchange(n, emit);
  std::size_t size = 1;
  while (size < n) size *= 2;
  for_each_exchange_by_halves(0, size, n, emit);
}

constexpr std::size_t register_exchange_count(std::size_t n) {
  std::size_t count = 0;
  for_each_register_exchange(n, [&](std::size_t, std::size_t) { ++count; });
  return count;
}

template <std::size_t n>
constexpr std::array<CompareExchange, register_exchange_count(n)> make_register_network() {
  std::array<CompareExchange, register_exchange_count(n)> network{};
  std::size_t next = 0;
  for_each_register_exchange(n, [&](std::size_t low, std::size_t high) {
    network[next++] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high)};
  });
  return network;
}

}  // namespace ballast::kernels::cpu
