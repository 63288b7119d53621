// The median after one row was replaced, from what is remembered of each column. Most columns are
// settled by that; a block gathers the others, so that its warps search them side by side instead
// of waiting for the one thread that must. The lanes of a warp share the rows of a column.

#include "ballast/kernels/cuda/fours.h"
#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kColumns = 8;  // of a thread, four at once
constexpr unsigned kOfBlock = kThreads * kColumns;
constexpr unsigned kHeld = 4;  // rows of a lane, in registers where that is enough

struct DeviceUnits {
  const std::uint32_t* few;
  const std::uint64_t* many;
  __device__ std::uint32_t operator()(unsigned row) const {
    return many == nullptr ? few[row] : static_cast<std::uint32_t>(many[row]);
  }
};

// The rows of one lane of the warp that takes a column, where they lie.
struct LyingRows {
  const Rows& rows;
  std::size_t j;
  const DeviceUnits& units;
  unsigned count;

  __device__ LyingRows(const Rows& rows, std::size_t j, const DeviceUnits& units)
      : rows(rows), j(j), units(units), count((rows.count + kLanes - 1 - lane()) / kLanes) {}
  __device__ static unsigned lane() { return threadIdx.x % kLanes; }
  __device__ float operator()(unsigned i) const { return rows[i * kLanes + lane()][j]; }
  __device__ std::uint32_t weight(unsigned i) const { return units(i * kLanes + lane()); }
};

// The same in registers. Rows that there are not are NaN: neither below nor above nor equal.
struct HeldRows {
  const unsigned count = kHeld;
  float values[kHeld];
  std::uint32_t units[kHeld];

  __device__ HeldRows(const Rows& rows, std::size_t j, const DeviceUnits& weight) {
#pragma unroll
    for (unsigned i = 0; i < kHeld; ++i) {
      const unsigned row = i * kLanes + threadIdx.x % kLanes;
      const bool exists = row < rows.count;
      values[i] = exists ? rows[row][j] : std::numeric_limits<float>::quiet_NaN();
      units[i] = exists ? weight(row) : 0;
    }
  }
  __device__ float operator()(unsigned i) const { return values[i]; }
  __device__ std::uint32_t weight(unsigned i) const { return units[i]; }
};

template <typename RowsOfLane>
struct WarpSteps {
  const RowsOfLane& mine;
  __device__ auto weight() const {
    return [this](unsigned i) { return mine.weight(i); };
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
    return of_warp(cuda::next_above(mine, weight(), mine.count, from),
                   [](const auto& a, const auto& b) { return nearer_above(a, b); });
  }
  __device__ Standing<std::uint32_t> next_below(const Standing<std::uint32_t>& from) const {
    return of_warp(cuda::next_below(mine, weight(), mine.count, from),
                   [](const auto& a, const auto& b) { return nearer_below(a, b); });
  }
  __device__ Standing<std::uint32_t> standing(float value) const {
    return of_warp(standing_of<std::uint32_t>(mine, weight(), mine.count, value),
                   [](const auto& a, const auto& b) { return both(a, b); });
  }
  __device__ Gap gap(float value) const {
    Gap gap = gap_around(mine, mine.count, value);
#pragma unroll
    for (unsigned apart = kLanes / 2; apart > 0; apart /= 2) {
      gap.lower = fmaxf(gap.lower, __shfl_xor_sync(0xFFFFFFFFu, gap.lower, apart));
      gap.upper = fminf(gap.upper, __shfl_xor_sync(0xFFFFFFFFu, gap.upper, apart));
    }
    return gap;
  }
  __device__ Standing<std::uint32_t> quantile(std::uint32_t total, std::uint32_t threshold) const {
    return cuda::quantile(total, threshold, [this](std::uint32_t pivot) {
      return __reduce_add_sync(0xFFFFFFFFu,
                               weight_below<std::uint32_t>(mine, weight(), mine.count, pivot));
    });
  }
};

// Searches the columns of this block that were found open, from what is known of them.
template <typename RowsOfLane>
__device__ void search_open(const Rows& rows, const DeviceUnits& weight, std::uint32_t total,
                            std::size_t start, const unsigned* open, unsigned open_count,
                            const MedianPlaces& places) {
  for (unsigned k = threadIdx.x / kLanes; k < open_count; k += kThreads / kLanes) {
    const std::size_t j = start + open[k];
    const RowsOfLane mine(rows, j, weight);
    const WarpSteps<RowsOfLane> steps{mine};
    Standing<std::uint32_t> s{places.median[j], places.below[j], places.at[j]};
    __syncwarp();  // all lanes have read before the first one writes
    if (s.below == kUnknown) s = steps.standing(s.value);
    s = search(steps, total, s);
    const float median = median_at(steps, total, s);
    const Gap gap = steps.gap(s.value);
    if (threadIdx.x % kLanes != 0) continue;
    remember(places, j, median, to_remember(s, total, gap.lower, gap.upper));
  }
}

// Four columns from j on; the bits of those that are open. What has not changed is not written.
__device__ unsigned follow_four(const RowReplacement& row, const MedianPlaces& places,
                                std::size_t j, std::size_t dim, std::uint32_t total) {
  const Four<float> old_values = load_four<true>(row.old_values, j, dim);
  const Four<float> new_values = load_four<true>(row.new_values, j, dim);
  Four<float> median = load_four<true>(places.median, j, dim);
  Four<float> lower = load_four<true>(places.lower, j, dim);
  Four<float> upper = load_four<true>(places.upper, j, dim);
  Four<std::uint32_t> below = load_four<true>(places.below, j, dim);
  Four<std::uint32_t> at = load_four<true>(places.at, j, dim);
  unsigned is_open = 0;
  bool moved = false, weighs = false, narrowed = false;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const Remembered before{median.of[i], below.of[i], at.of[i], lower.of[i], upper.of[i]};
    Remembered s = before;
    const bool is_settled = follow(s, old_values.of[i], new_values.of[i], row.weights, total);
    is_open |= !is_settled && j + i < dim ? 1u << i : 0u;
    moved |= s.value != before.value || s.at != before.at;
    weighs |= s.below != before.below;
    narrowed |= s.lower != before.lower || s.upper != before.upper;
    median.of[i] = s.value;
    below.of[i] = s.below;
    at.of[i] = s.at;
    lower.of[i] = s.lower;
    upper.of[i] = s.upper;
  }
  if (moved) {
    store_four(median, places.median, j, dim);
    store_four(at, places.at, j, dim);
  }
  if (weighs) store_four(below, places.below, j, dim);
  if (narrowed) {
    store_four(lower, places.lower, j, dim);
    store_four(upper, places.upper, j, dim);
  }
  return is_open;
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
  for (unsigned c = 0; c < kColumns; c += 4) {
    const unsigned offset = c * kThreads + 4 * threadIdx.x;
    const unsigned is_open = follow_four(row, places, start + offset, rows.dim, total);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if ((is_open >> i & 1) != 0) open[atomicAdd(&open_count, 1)] = offset + i;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x % sample_step == 0) {
    searched[blockIdx.x / sample_step] = open_count;
  }
  const DeviceUnits weight{few, units.many};
  if (rows.count <= kHeld * kLanes) {
    search_open<HeldRows>(rows, weight, total, start, open, open_count, places);
  } else {
    search_open<LyingRows>(rows, weight, total, start, open, open_count, places);
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
