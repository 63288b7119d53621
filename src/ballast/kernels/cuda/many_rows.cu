// Medians and trimmed means of any number of rows: a block takes 32 columns, a lane a column and
// each warp its share of the rows, and the bits of the answer are bisected. Up to about 1600 rows
// the columns stay in shared memory meanwhile; beyond, they are read again for each bit.

#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kWarpsMax = 32;
constexpr unsigned kRowsOfWarp = 16;
constexpr std::size_t kSharedBytesMax = 227 * 1024;

// What the block works on: keys of the columns, staged or not, and the weights of the rows.
template <typename Sum, bool kIsStaged>
struct BlockColumns {
  const Rows* rows;
  std::size_t column;
  std::uint32_t* keys;     // [row][lane] where staged
  const Sum* units;        // of every row
  Sum* partial;            // [2][warp][lane]
  std::uint32_t* extreme;  // [warp][lane]
  unsigned lane, warp, warps;

  __device__ std::uint32_t key(unsigned row) const {
    if constexpr (kIsStaged) return keys[row * kLanes + lane];
    return ordered_key((*rows)[row][column]);
  }

  // The weight of the rows whose key is below the pivot; every thread of a column gets it.
  __device__ Sum weight_below(std::uint32_t pivot, unsigned turn) const {
    Sum sum = 0;
#pragma unroll 8
    for (unsigned i = warp; i < rows->count; i += warps) sum += key(i) < pivot ? units[i] : 0;
    Sum* const place = partial + (turn % 2) * kWarpsMax * kLanes + lane;
    place[warp * kLanes] = sum;
    __syncthreads();
    sum = 0;
    for (unsigned w = 0; w < warps; ++w) sum += place[w * kLanes];
    return sum;
  }

  __device__ Standing<Sum> quantile(Sum total, Sum threshold) const {
    std::uint32_t found = 0;
    Sum below = 0, through = total;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const std::uint32_t pivot = found | (0x80000000u >> bit);
      const Sum sum = weight_below(pivot, bit);
      if (sum < threshold) {
        found = pivot;
        below = sum;
      } else {
        through = sum;
      }
    }
    __syncthreads();
    return {value_of_key(found), below, through - below};
  }

  // The smallest value above the given one.
  __device__ float next_above(float value) const {
    const std::uint32_t from = ordered_key(value);
    std::uint32_t next = 0xFFFFFFFFu;
    for (unsigned i = warp; i < rows->count; i += warps) {
      const std::uint32_t k = key(i);
      if (k > from && k < next) next = k;
    }
    extreme[warp * kLanes + lane] = next;
    __syncthreads();
    for (unsigned w = 0; w < warps; ++w) next = min(next, extreme[w * kLanes + lane]);
    __syncthreads();
    return value_of_key(next);
  }
};

template <typename Sum, bool kIsStaged>
__device__ BlockColumns<Sum, kIsStaged> open_block(const Rows& rows, const Units& units,
                                                   double* shared) {
  BlockColumns<Sum, kIsStaged> block{};
  block.rows = &rows;
  block.lane = threadIdx.x % kLanes;
  block.warp = threadIdx.x / kLanes;
  block.warps = blockDim.x / kLanes;
  const std::size_t j = static_cast<std::size_t>(blockIdx.x) * kLanes + block.lane;
  block.column = j < rows.dim ? j : rows.dim - 1;
  block.partial = reinterpret_cast<Sum*>(shared);
  Sum* const units_place = block.partial + 2 * kWarpsMax * kLanes;
  block.units = units_place;
  block.extreme = reinterpret_cast<std::uint32_t*>(units_place + rows.count);
  block.keys = block.extreme + kWarpsMax * kLanes;
  for (unsigned i = threadIdx.x; i < rows.count; i += blockDim.x) {
    units_place[i] = static_cast<Sum>(units.many[i]);
  }
  if constexpr (kIsStaged) {
#pragma unroll 8
    for (unsigned i = block.warp; i < rows.count; i += block.warps) {
      block.keys[i * kLanes + block.lane] = ordered_key(rows.many[i][block.column]);
    }
  }
  __syncthreads();
  return block;
}

template <typename Sum, bool kIsStaged>
__global__ void __launch_bounds__(kWarpsMax* kLanes)
    median_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                  const MedianPlaces out) {
  extern __shared__ double shared[];
  const auto block = open_block<Sum, kIsStaged>(rows, units, shared);
  const Sum total = static_cast<Sum>(units.total);
  const Standing<Sum> s = block.quantile(total, total - total / 2);
  const Side where = side(s, total);
  float median = s.value + 0.0f;
  if (__syncthreads_or(where == Side::kBetween) != 0) {
    const float above = block.next_above(s.value);
    if (where == Side::kBetween) {
      median = static_cast<float>((static_cast<double>(s.value) + above) / 2.0) + 0.0f;
    }
  }
  const std::size_t j = static_cast<std::size_t>(blockIdx.x) * kLanes + block.lane;
  if (block.warp != 0 || j >= rows.dim) return;
  out.median[j] = median;
  if constexpr (sizeof(Sum) == sizeof(std::uint32_t)) {
    if (out.below == nullptr) return;
    const Standing<std::uint32_t> kept = to_remember(s, total);
    out.below[j] = kept.below;
    out.at[j] = kept.at;
  }
}

template <typename Sum, bool kIsStaged>
__global__ void __launch_bounds__(kWarpsMax* kLanes)
    trimmed_mean_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                        const Cuts cuts, const CutThresholds thresholds, float* __restrict__ out) {
  extern __shared__ double shared[];
  const auto block = open_block<Sum, kIsStaged>(rows, units, shared);
  const Sum total = static_cast<Sum>(units.total);
  const Standing<Sum> low = block.quantile(total, static_cast<Sum>(thresholds.low));
  const Standing<Sum> high = block.quantile(total, static_cast<Sum>(thresholds.high));
  const auto column = [&](unsigned row) { return value_of_key(block.key(row)); };
  const auto weight = [&](unsigned row) { return block.units[row]; };
  double* const sums = shared;  // no partial sum of weights is needed any more
  sums[block.warp * kLanes + block.lane] =
      sum_between(column, weight, block.warp, rows.count, block.warps, low, high);
  __syncthreads();
  const std::size_t j = static_cast<std::size_t>(blockIdx.x) * kLanes + block.lane;
  if (block.warp != 0 || j >= rows.dim) return;
  double inside = 0.0;
  for (unsigned w = 0; w < block.warps; ++w) inside += sums[w * kLanes + block.lane];
  out[j] = trimmed_mean(inside, cuts, low, high);
}

struct Shape {
  unsigned blocks, threads;
  std::size_t bytes;
  bool is_staged;
};

template <typename Sum>
Shape shape_for(const Rows& rows) {
  Shape shape{};
  const unsigned warps = (rows.count + kRowsOfWarp - 1) / kRowsOfWarp;
  shape.threads = kLanes * (warps < 4 ? 4 : warps > kWarpsMax ? kWarpsMax : warps);
  shape.blocks = static_cast<unsigned>((rows.dim + kLanes - 1) / kLanes);
  const std::size_t table = std::size_t{rows.count} * kLanes * sizeof(std::uint32_t);
  // The sums of a trimmed mean are doubles, twice as wide as narrow partial sums but half as many.
  shape.bytes = 2 * kWarpsMax * kLanes * sizeof(Sum) + rows.count * sizeof(Sum) +
                kWarpsMax * kLanes * sizeof(std::uint32_t);
  shape.is_staged = shape.bytes + table <= kSharedBytesMax;
  if (shape.is_staged) shape.bytes += table;
  return shape;
}

template <typename Kernel, typename... Arguments>
void launch(Kernel* kernel, const Shape& shape, cudaStream_t stream,
            const Arguments&... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(shape.bytes));
  kernel<<<shape.blocks, shape.threads, shape.bytes, stream>>>(arguments...);
}

template <typename Sum>
void run_median(const Rows& rows, const Units& units, const MedianPlaces& out,
                cudaStream_t stream) {
  const Shape shape = shape_for<Sum>(rows);
  launch(shape.is_staged ? median_kernel<Sum, true> : median_kernel<Sum, false>, shape, stream,
         rows, units, out);
}

template <typename Sum>
void run_trimmed_mean(const Rows& rows, const Units& units, const Cuts& cuts, float* out,
                      cudaStream_t stream) {
  const Shape shape = shape_for<Sum>(rows);
  launch(shape.is_staged ? trimmed_mean_kernel<Sum, true> : trimmed_mean_kernel<Sum, false>, shape,
         stream, rows, units, cuts, cut_thresholds(cuts, units.total), out);
}

}  // namespace

void median_of_many(const Rows& rows, const Units& units, const MedianPlaces& out,
                    cudaStream_t stream) {
  if (units.is_narrow) {
    run_median<std::uint32_t>(rows, units, out, stream);
  } else {
    run_median<std::uint64_t>(rows, units, out, stream);
  }
}

void trimmed_mean_of_many(const Rows& rows, const Units& units, const Cuts& cuts, float* out,
                          cudaStream_t stream) {
  if (units.is_narrow) {
    run_trimmed_mean<std::uint32_t>(rows, units, cuts, out, stream);
  } else {
    run_trimmed_mean<std::uint64_t>(rows, units, cuts, out, stream);
  }
}

}  // namespace ballast::kernels::cuda
