// One value at a time: copies, checks, steps of optimizers, patches.

#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksMax = 4096;

unsigned blocks_for(std::size_t size) {
  const std::size_t blocks = (size + 4 * kThreads - 1) / (4 * kThreads);
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > kBlocksMax ? kBlocksMax : blocks);
}

__device__ bool is_bad_float(float value) {
  return (__float_as_uint(value) & 0x7F800000u) == 0x7F800000u;
}

// Calls work(i), which says whether it met a bad value, for every index.
template <typename Work>
__device__ void for_each_value(std::size_t size, std::uint32_t* is_bad, const Work& work) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  bool found = false;
#pragma unroll 4
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += stride) {
    found |= work(i);
  }
  if (found) *is_bad = 1;
}

__global__ void check_finite_kernel(const float* __restrict__ values, std::size_t size,
                                    std::uint32_t* is_bad) {
  for_each_value(size, is_bad, [&](std::size_t i) { return is_bad_float(values[i]); });
}

__global__ void copy_finite_kernel(const float* __restrict__ from, std::size_t size,
                                   float* __restrict__ to, std::uint32_t* is_bad) {
  for_each_value(size, is_bad, [&](std::size_t i) {
    const float value = from[i];
    to[i] = value;
    return is_bad_float(value);
  });
}

// Products and sums round separately, as on every backend.
__device__ float step_down(float w, float direction, double rate) {
  return __double2float_rn(__dsub_rn(w, __dmul_rn(rate, direction)));
}
__device__ float step_between(float newest, float before, double share, double rest) {
  return __double2float_rn(__dadd_rn(__dmul_rn(share, newest), __dmul_rn(rest, before)));
}

__global__ void descend_kernel(const float* __restrict__ w, const float* __restrict__ direction,
                               double rate, std::size_t size, float* __restrict__ next,
                               std::uint32_t* is_bad) {
  for_each_value(size, is_bad, [&](std::size_t i) {
    return is_bad_float(next[i] = step_down(w[i], direction[i], rate));
  });
}

__global__ void average_kernel(const float* __restrict__ newest, const float* __restrict__ before,
                               double share, std::size_t size, float* __restrict__ next,
                               std::uint32_t* is_bad) {
  const double rest = 1.0 - share;
  for_each_value(size, is_bad, [&](std::size_t i) {
    return is_bad_float(next[i] = step_between(newest[i], before[i], share, rest));
  });
}

__global__ void descend_and_average_kernel(StepPlaces p, double rate, double share,
                                           std::size_t size, std::uint32_t* is_bad) {
  const double rest = 1.0 - share;
  for_each_value(size, is_bad, [&](std::size_t i) {
    const float next_w = step_down(p.w[i], p.direction[i], rate);
    const float next_x = step_between(next_w, p.x[i], share, rest);
    p.next_w[i] = next_w;
    p.next_x[i] = next_x;
    return is_bad_float(next_w) || is_bad_float(next_x);
  });
}

__device__ float corrected(float gradient, float before, float reference, double keep) {
  return __double2float_rn(__dadd_rn(gradient, __dmul_rn(keep, __dsub_rn(before, reference))));
}
// The others are read before the results of the same places are written, for next may be one of
// them; four at a time, or else the loop would wait for each value's store.
__global__ void correct_kernel(CorrectionPlaces p, double keep, std::size_t size) {
  constexpr unsigned kAtOnce = 4;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  bool found = false;
  for (std::size_t i = first; i < size; i += kAtOnce * stride) {
    float results[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::size_t at = i + k * stride;
      if (at < size) results[k] = corrected(p.gradient[at], p.before[at], p.reference[at], keep);
    }
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::size_t at = i + k * stride;
      if (at >= size) continue;
      p.next[at] = results[k];
      found |= is_bad_float(results[k]);
    }
  }
  if (found) *p.mark = __uint_as_float(0x7FC00000u);
}

__global__ void patch_kernel(const __grid_constant__ Patch patch, std::uint64_t* to) {
  if (threadIdx.x < patch.count) to[patch.place[threadIdx.x]] = patch.word[threadIdx.x];
}

}  // namespace

void check_finite(const float* values, std::size_t size, std::uint32_t* is_bad,
                  cudaStream_t stream) {
  check_finite_kernel<<<blocks_for(size), kThreads, 0, stream>>>(values, size, is_bad);
}

void copy_finite(const float* from, std::size_t size, float* to, std::uint32_t* is_bad,
                 cudaStream_t stream) {
  copy_finite_kernel<<<blocks_for(size), kThreads, 0, stream>>>(from, size, to, is_bad);
}

void descend(const float* w, const float* direction, double rate, std::size_t size, float* next,
             std::uint32_t* is_bad, cudaStream_t stream) {
  descend_kernel<<<blocks_for(size), kThreads, 0, stream>>>(w, direction, rate, size, next, is_bad);
}

void average(const float* newest, const float* before, double share, std::size_t size, float* next,
             std::uint32_t* is_bad, cudaStream_t stream) {
  average_kernel<<<blocks_for(size), kThreads, 0, stream>>>(newest, before, share, size, next,
                                                            is_bad);
}

void descend_and_average(const StepPlaces& places, double rate, double share, std::size_t size,
                         std::uint32_t* is_bad, cudaStream_t stream) {
  descend_and_average_kernel<<<blocks_for(size), kThreads, 0, stream>>>(places, rate, share, size,
                                                                        is_bad);
}

void correct(const CorrectionPlaces& places, double keep, std::size_t size, cudaStream_t stream) {
  correct_kernel<<<blocks_for(size), kThreads, 0, stream>>>(places, keep, size);
}

void write_patch(const Patch& patch, std::uint64_t* to, cudaStream_t stream) {
  patch_kernel<<<1, kThreads, 0, stream>>>(patch, to);
}

}  // namespace ballast::kernels::cuda
