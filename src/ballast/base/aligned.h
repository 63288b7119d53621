#pragma once
// Buffers that start on a cache line, as the SIMD kernels like them.

#include <cstddef>
#include <new>
#include <vector>

namespace ballast {

inline constexpr std::size_t kCacheLineBytes = 64;

template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kCacheLineBytes}));
  }
  void deallocate(T* pointer, std::size_t) noexcept {
    ::operator delete (pointer, std::align_val_t{kCacheLineBytes});
  }
  friend bool operator==(AlignedAllocator, AlignedAllocator) noexcept { return true; }
};

template <typename T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace ballast
