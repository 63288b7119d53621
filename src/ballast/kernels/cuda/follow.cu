// The median after one row was replaced, from the standing of the old one in each column. Most
// columns are settled by that; a block gathers the others, so that its threads search them side by
// side instead of waiting for the one among them that must.

#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kColumns = 8;  // of a thread
constexpr unsigned kOfBlock = kThreads * kColumns;

struct DeviceColumn {
  const Rows* rows;
  std::size_t j;
  __device__ float operator()(unsigned row) const { return (*rows)[row][j]; }
};

struct DeviceUnits {
  const std::uint32_t* few;
  const std::uint64_t* many;
  __device__ std::uint32_t operator()(unsigned row) const {
    return many == nullptr ? few[row] : static_cast<std::uint32_t>(many[row]);
  }
};

__global__ void __launch_bounds__(kThreads)
    follow_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                  const RowReplacement row, const MedianPlaces places, const unsigned sample_step,
                  std::uint32_t* searched) {
  __shared__ unsigned open[kOfBlock];  // columns of this block to search
  __shared__ unsigned open_count;
  __shared__ std::uint32_t few[kFewRows];
  if (threadIdx.x < kFewRows) few[threadIdx.x] = units.few[threadIdx.x];
  if (threadIdx.x == 0) open_count = 0;
  __syncthreads();
  const std::size_t start = static_cast<std::size_t>(blockIdx.x) * kOfBlock;
  const auto total = static_cast<std::uint32_t>(units.total);
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c) {
    const unsigned offset = c * kThreads + threadIdx.x;
    const std::size_t j = start + offset;
    if (j >= rows.dim) continue;
    const Standing<std::uint32_t> before{places.median[j], places.below[j], places.at[j]};
    Standing<std::uint32_t> s = before;
    const bool is_settled = follow(s, row.old_values[j], row.new_values[j], row.weights, total);
    if (!is_settled) open[atomicAdd(&open_count, 1)] = offset;
    if (s.below != before.below) places.below[j] = s.below;
    if (s.at != before.at) places.at[j] = s.at;
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x % sample_step == 0) {
    searched[blockIdx.x / sample_step] = open_count;
  }
  const DeviceUnits weight{few, units.many};
  for (unsigned k = threadIdx.x; k < open_count; k += kThreads) {
    const std::size_t j = start + open[k];
    const DeviceColumn column{&rows, j};
    Standing<std::uint32_t> s{places.median[j], places.below[j], places.at[j]};
    if (s.below == kUnknown) {
      s = standing_of<std::uint32_t>(column, weight, rows.count, s.value);
    }
    s = search(column, weight, rows.count, total, s);
    places.median[j] = median_at(column, weight, rows.count, total, s);
    const Standing<std::uint32_t> kept = to_remember(s, total);
    places.below[j] = kept.below;
    places.at[j] = kept.at;
  }
}

}  // namespace

std::size_t follow_median(const Rows& rows, const Units& units, const RowReplacement& replacement,
                          const MedianPlaces& places, std::uint32_t* searched,
                          cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((rows.dim + kOfBlock - 1) / kOfBlock);
  const unsigned step = (blocks + kSampleMax - 1) / kSampleMax;
  follow_kernel<<<blocks, kThreads, 0, stream>>>(rows, units, replacement, places, step, searched);
  const std::size_t sampled = std::size_t{(blocks + step - 1) / step} * kOfBlock;
  return sampled < rows.dim ? sampled : rows.dim;
}

}  // namespace ballast::kernels::cuda
