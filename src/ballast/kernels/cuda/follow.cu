// The median after one row was replaced, from the standing of the old one in each column. Most
// columns are settled by that; a block gathers the others, so that its threads search them side by
// side instead of waiting for the one among them that must: a thread a column where the rows are
// few, else a warp, whose lanes share the rows.

#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kColumns = 8;  // of a thread
constexpr unsigned kOfBlock = kThreads * kColumns;
constexpr unsigned kRowsOfThreadMax = 48;  // a guess; a warp reads more rows at the same time

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

// The rows of one lane of the warp that takes a column.
struct WarpSteps {
  const Rows& rows;
  std::size_t j;
  const DeviceUnits& units;
  unsigned lane;
  unsigned count;  // rows of this lane

  __device__ WarpSteps(const Rows& rows, std::size_t j, const DeviceUnits& units)
      : rows(rows),
        j(j),
        units(units),
        lane(threadIdx.x % kLanes),
        count((rows.count + kLanes - 1 - lane) / kLanes) {}

  __device__ float operator()(unsigned i) const { return rows[i * kLanes + lane][j]; }
  __device__ auto weight() const {
    return [this](unsigned i) { return units(i * kLanes + lane); };
  }

  template <typename Join>
  __device__ static Standing<std::uint32_t> of_warp(Standing<std::uint32_t> s, const Join& join) {
#pragma unroll
    for (unsigned apart = kLanes / 2; apart > 0; apart /= 2) {
      const Standing<std::uint32_t> other{__shfl_xor_sync(0xFFFFFFFFu, s.value, apart),
                                          __shfl_xor_sync(0xFFFFFFFFu, s.below, apart),
                                          __shfl_xor_sync(0xFFFFFFFFu, s.at, apart)};
      s = join(s, other);
    }
    return s;
  }
  __device__ Standing<std::uint32_t> next_above(const Standing<std::uint32_t>& from) const {
    return of_warp(cuda::next_above(*this, weight(), count, from),
                   [](const auto& a, const auto& b) { return nearer_above(a, b); });
  }
  __device__ Standing<std::uint32_t> next_below(const Standing<std::uint32_t>& from) const {
    return of_warp(cuda::next_below(*this, weight(), count, from),
                   [](const auto& a, const auto& b) { return nearer_below(a, b); });
  }
  __device__ Standing<std::uint32_t> standing(float value) const {
    return of_warp(standing_of<std::uint32_t>(*this, weight(), count, value),
                   [](const auto& a, const auto& b) { return both(a, b); });
  }
  __device__ Standing<std::uint32_t> quantile(std::uint32_t total, std::uint32_t threshold) const {
    return cuda::quantile(total, threshold, [this](std::uint32_t pivot) {
      return __reduce_add_sync(0xFFFFFFFFu,
                               weight_below<std::uint32_t>(*this, weight(), count, pivot));
    });
  }
};

// Searches the columns of this block that were found open, from what is known of them.
template <bool kByWarps>
__device__ void search_open(const Rows& rows, const DeviceUnits& weight, std::uint32_t total,
                            std::size_t start, const unsigned* open, unsigned open_count,
                            const MedianPlaces& places) {
  constexpr unsigned kThreadsOfColumn = kByWarps ? kLanes : 1;
  for (unsigned k = threadIdx.x / kThreadsOfColumn; k < open_count;
       k += kThreads / kThreadsOfColumn) {
    const std::size_t j = start + open[k];
    Standing<std::uint32_t> s{places.median[j], places.below[j], places.at[j]};
    float median = 0.0f;
    if constexpr (kByWarps) {
      __syncwarp();  // all lanes have read before the first one writes
      const WarpSteps steps(rows, j, weight);
      if (s.below == kUnknown) s = steps.standing(s.value);
      s = search(steps, total, s);
      median = median_at(steps, total, s);
    } else {
      const DeviceColumn column{&rows, j};
      if (s.below == kUnknown) {
        s = standing_of<std::uint32_t>(column, weight, rows.count, s.value);
      }
      s = search(column, weight, rows.count, total, s);
      median = median_at(column, weight, rows.count, total, s);
    }
    if (threadIdx.x % kThreadsOfColumn != 0) continue;
    const Standing<std::uint32_t> kept = to_remember(s, total);
    places.median[j] = median;
    places.below[j] = kept.below;
    places.at[j] = kept.at;
  }
}

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
  if (rows.count > kRowsOfThreadMax) {
    search_open<true>(rows, weight, total, start, open, open_count, places);
  } else {
    search_open<false>(rows, weight, total, start, open, open_count, places);
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
