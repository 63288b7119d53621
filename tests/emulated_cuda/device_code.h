#pragma once
// What nvcc knows of itself and the kernels of Ballast use, for a compiler of plain C++. Included
// before every translated kernel (translate.py).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/emulated_cuda/block.h"
#include "tests/emulated_cuda/cuda_runtime_api.h"

#define __host__
#define __device__
#define __global__ static
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after the other

#define threadIdx (::emulated_cuda::here().thread)
#define blockIdx (::emulated_cuda::here().block)
#define blockDim (::emulated_cuda::here().threads)
#define gridDim (::emulated_cuda::here().blocks)

struct alignas(16) double2 {
  double x, y;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
using std::max, std::min;

namespace emulated_cuda {

// What `kernel<<<blocks, threads, shared_bytes, stream>>>` becomes.
template <typename... Parameters>
auto start(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared_bytes,
           cudaStream_t stream) {
  const Shape shape{blocks, threads, shared_bytes};
  return [=](const auto&... arguments) {
    const auto* const address = reinterpret_cast<const void*>(kernel);
    if (!may_start(address, shape)) return;
    queue(stream,
          [shape, kernel, values = std::tuple<std::remove_cv_t<Parameters>...>(arguments...)] {
            run(shape, [&] { std::apply(kernel, values); });
          });
  };
}

template <typename T>
T of_lane(const std::byte* slots, unsigned lane) {
  T value;
  std::memcpy(&value, slots + lane * kSlotBytes, sizeof(T));
  return value;
}

// sums[2 l], sums[2 l + 1] of lane l: see multiply_add() of products.cu.
inline void multiply_add(double (&sums)[2], double a, double b) {
  const double mine[] = {a, b};
  const std::byte* const slots = meet_lanes(mine, sizeof(mine));
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned k = 0; k < 4; ++k) {
    const auto left = of_lane<double>(slots, lane / 4 * 4 + k);
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned column = lane % 4 * 2 + i;
      double right[2];
      std::memcpy(right, slots + (column * 4 + k) * kSlotBytes, sizeof(right));
      sums[i] = std::fma(left, right[1], sums[i]);
    }
  }
}

}  // namespace emulated_cuda

inline void __syncthreads() { emulated_cuda::block_barrier(false); }
inline int __syncthreads_or(int answer) { return emulated_cuda::block_barrier(answer != 0); }
inline void __syncwarp() { emulated_cuda::meet_lanes(nullptr, 0); }

template <typename T>
T __shfl_xor_sync(unsigned, T value, unsigned apart) {
  const unsigned lane = threadIdx.x % emulated_cuda::kLanes;
  return emulated_cuda::of_lane<T>(emulated_cuda::meet_lanes(&value, sizeof(value)), lane ^ apart);
}
inline unsigned __reduce_add_sync(unsigned, unsigned value) {
  const std::byte* const slots = emulated_cuda::meet_lanes(&value, sizeof(value));
  unsigned sum = 0;
  for (unsigned lane = 0; lane < emulated_cuda::kLanes; ++lane) {
    sum += emulated_cuda::of_lane<unsigned>(slots, lane);
  }
  return sum;
}

template <typename T>
T atomicAdd(T* to, std::type_identity_t<T> value) {
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
inline void change_if(unsigned* place, unsigned value, bool (*is_better)(unsigned, unsigned)) {
  unsigned before = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (is_better(value, before) &&
         !__atomic_compare_exchange_n(place, &before, value, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}
inline void atomicMin(unsigned* place, unsigned value) {
  change_if(place, value, [](unsigned a, unsigned b) { return a < b; });
}
inline void atomicMax(unsigned* place, unsigned value) {
  change_if(place, value, [](unsigned a, unsigned b) { return a > b; });
}

template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
T __ldcs(const T* from) {
  return *from;
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline float __double2float_rn(double value) { return static_cast<float>(value); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
