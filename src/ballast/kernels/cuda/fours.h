#pragma once
// Private to kernels/cuda: four neighbouring values at once, which is how a thread asks most of the
// memory. For device code alone.

#include <cstddef>
#include <cstdint>

namespace ballast::kernels::cuda {

template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T of[4];
};

// The values from the place j on; zeros from `end` on. kIsAligned: the array begins where four
// values can be read at once, and j is a multiple of four.
template <bool kIsAligned, typename T>
__device__ Four<T> load_four(const T* array, std::size_t j, std::size_t end) {
  Four<T> four{};
  if constexpr (kIsAligned) {
    if (j + 4 <= end) {
      return *reinterpret_cast<const Four<T>*>(array + j);
    }
  }
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (j + i < end) four.of[i] = array[j + i];
  }
  return four;
}

// Requires: as load_four() with kIsAligned. What lies from `end` on is left alone.
template <typename T>
__device__ void store_four(const Four<T>& four, T* array, std::size_t j, std::size_t end) {
  if (j + 4 <= end) {
    *reinterpret_cast<Four<T>*>(array + j) = four;
    return;
  }
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (j + i < end) array[j + i] = four.of[i];
  }
}

}  // namespace ballast::kernels::cuda
