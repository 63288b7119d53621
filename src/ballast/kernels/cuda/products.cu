// Inner products and distances: sums over columns in the one order that launch.h states.

#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr std::size_t kPieceColumnsMin = 1024;
constexpr std::size_t kPiecesMax = 1024;
constexpr unsigned kRowsOfWarp = 8;
constexpr unsigned kWarpsMax = 8;

// Adds each of the sums over the lanes of a warp as a tree; the sum number l / (32 / kCount) is
// then in lane l. Each step halves the sums that a lane holds, so that kCount sums take about as
// many exchanges. The order of a tree's additions is that of a butterfly: 16, 8, 4, 2, 1 apart.
template <unsigned kCount>
__device__ double add_lanes(double (&sums)[kCount], unsigned lane) {
  static_assert(kCount <= kLanes);
  unsigned held = kCount;
#pragma unroll
  for (unsigned apart = kLanes / 2; apart > 0; apart /= 2) {
    if (held > 1) {
      held /= 2;
      const bool is_upper = (lane & apart) != 0;
#pragma unroll
      for (unsigned i = 0; i < (kCount + 1) / 2; ++i) {
        if (i >= held) continue;
        const double mine = is_upper ? sums[i + held] : sums[i];
        const double other = is_upper ? sums[i] : sums[i + held];
        sums[i] = mine + __shfl_xor_sync(0xFFFFFFFFu, other, apart);
      }
    } else {
      sums[0] += __shfl_xor_sync(0xFFFFFFFFu, sums[0], apart);
    }
  }
  return sums[0];
}

enum class Job { kProducts, kCentredProducts, kDistances, kNorms };

// A warp takes eight rows, a block eight warps and one piece of the columns.
template <Job kJob>
__global__ void __launch_bounds__(kWarpsMax* kLanes)
    row_kernel(const __grid_constant__ Rows rows, const float* __restrict__ row,
               const float* __restrict__ centre, std::size_t piece_columns, double* partial) {
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned first = (blockIdx.y * (blockDim.x / kLanes) + warp) * kRowsOfWarp;
  if (first >= rows.count) return;
  const float* __restrict__ mine[kRowsOfWarp];
#pragma unroll
  for (unsigned i = 0; i < kRowsOfWarp; ++i) {
    mine[i] = rows[first + i < rows.count ? first + i : first];
  }
  const std::size_t start = blockIdx.x * piece_columns;
  const std::size_t end = start + piece_columns < rows.dim ? start + piece_columns : rows.dim;
  double sums[kRowsOfWarp] = {};
#pragma unroll 4
  for (std::size_t j = start + lane; j < end; j += kLanes) {
    double origin = 0.0, factor = 0.0;
    if constexpr (kJob == Job::kCentredProducts || kJob == Job::kDistances) origin = centre[j];
    if constexpr (kJob == Job::kProducts || kJob == Job::kCentredProducts) factor = row[j] - origin;
#pragma unroll
    for (unsigned i = 0; i < kRowsOfWarp; ++i) {
      const double x = mine[i][j] - origin;
      if constexpr (kJob == Job::kDistances || kJob == Job::kNorms) factor = x;
      sums[i] = fma(factor, x, sums[i]);
    }
  }
  const double sum = add_lanes(sums, lane);
  constexpr unsigned kLanesOfSum = kLanes / kRowsOfWarp;
  const unsigned which = first + lane / kLanesOfSum;
  if (lane % kLanesOfSum == 0 && which < rows.count) {
    partial[static_cast<std::size_t>(which) * gridDim.x + blockIdx.x] = sum;
  }
}

// The rows of the two groups of a tile: tiles are numbered along the rows of the upper triangle.
__device__ void find_tile(unsigned tile, unsigned groups, unsigned& left, unsigned& right) {
  left = 0;
  while (tile >= groups - left) {
    tile -= groups - left;
    ++left;
  }
  right = left + tile;
}

// A warp takes half a tile, eight rows by four, a block up to eight halves and one piece of the
// columns: tiles share rows, which then come from a cache. The next columns are on their way while
// these are multiplied. Blocks of one piece follow each other, so that they run side by side.
constexpr unsigned kHalfRows = kTileRows / 2;
template <bool kIsCentred>
__global__ void __launch_bounds__(kWarpsMax* kLanes, 2)
    tile_kernel(const __grid_constant__ Rows rows, const float* __restrict__ centre,
                unsigned first_tile, unsigned count, std::size_t piece_columns, double* partial) {
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned half = blockIdx.x * (blockDim.x / kLanes) + warp;
  const unsigned tile = half / 2, first_b = half % 2 * kHalfRows;
  if (tile >= count) return;
  unsigned left = 0, right = 0;
  find_tile(first_tile + tile, (rows.count + kTileRows - 1) / kTileRows, left, right);
  const float* __restrict__ a[kTileRows];
  const float* __restrict__ b[kHalfRows];
#pragma unroll
  for (unsigned i = 0; i < kTileRows; ++i) {
    const unsigned in_a = left * kTileRows + i;
    a[i] = rows[in_a < rows.count ? in_a : rows.count - 1];
  }
#pragma unroll
  for (unsigned i = 0; i < kHalfRows; ++i) {
    const unsigned in_b = right * kTileRows + first_b + i;
    b[i] = rows[in_b < rows.count ? in_b : rows.count - 1];
  }
  const std::size_t start = blockIdx.y * piece_columns;
  const std::size_t end = start + piece_columns < rows.dim ? start + piece_columns : rows.dim;
  float next_a[kTileRows] = {}, next_b[kHalfRows] = {}, next_origin = 0.0f;
  const auto load = [&](std::size_t j) {
    if (j >= end) return;
#pragma unroll
    for (unsigned i = 0; i < kTileRows; ++i) next_a[i] = a[i][j];
#pragma unroll
    for (unsigned i = 0; i < kHalfRows; ++i) next_b[i] = b[i][j];
    if constexpr (kIsCentred) next_origin = centre[j];
  };
  double sums[kTileRows][kHalfRows] = {};
  load(start + lane);
#pragma unroll 1
  for (std::size_t j = start + lane; j < end; j += kLanes) {
    const double origin = next_origin;
    double x[kTileRows], y[kHalfRows];
#pragma unroll
    for (unsigned i = 0; i < kTileRows; ++i) x[i] = next_a[i] - origin;
#pragma unroll
    for (unsigned i = 0; i < kHalfRows; ++i) y[i] = next_b[i] - origin;
    load(j + kLanes);
#pragma unroll
    for (unsigned i = 0; i < kTileRows; ++i) {
#pragma unroll
      for (unsigned k = 0; k < kHalfRows; ++k) sums[i][k] = fma(x[i], y[k], sums[i][k]);
    }
  }
  constexpr unsigned kLanesOfSum = kLanes / kHalfRows;
#pragma unroll
  for (unsigned i = 0; i < kTileRows; ++i) {
    const double sum = add_lanes(sums[i], lane);
    const std::size_t which = tile * kTilePairs + i * kTileRows + first_b + lane / kLanesOfSum;
    if (lane % kLanesOfSum == 0) partial[which * gridDim.y + blockIdx.y] = sum;
  }
}

// Adds the pieces: a warp for each sum.
__global__ void __launch_bounds__(kWarpsMax* kLanes)
    finish_kernel(const double* __restrict__ partial, unsigned piece_count, unsigned count,
                  double* sums) {
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned which = blockIdx.x * kWarpsMax + threadIdx.x / kLanes;
  if (which >= count) return;
  double sum[1] = {0.0};
  for (unsigned piece = lane; piece < piece_count; piece += kLanes) {
    sum[0] += partial[static_cast<std::size_t>(which) * piece_count + piece];
  }
  const double all = add_lanes(sum, lane);
  if (lane == 0) sums[which] = all;
}

void finish(const double* partial, unsigned piece_count, unsigned count, double* sums,
            cudaStream_t stream) {
  const unsigned blocks = (count + kWarpsMax - 1) / kWarpsMax;
  finish_kernel<<<blocks, kWarpsMax * kLanes, 0, stream>>>(partial, piece_count, count, sums);
}

template <Job kJob>
void run_rows(const Rows& rows, const float* row, const float* centre, double* partial,
              double* sums, cudaStream_t stream) {
  const Pieces cut = pieces(rows.dim);
  const unsigned groups = (rows.count + kRowsOfWarp - 1) / kRowsOfWarp;
  const unsigned warps = groups < kWarpsMax ? groups : kWarpsMax;
  const dim3 blocks(cut.count, (groups + warps - 1) / warps);
  row_kernel<kJob><<<blocks, warps * kLanes, 0, stream>>>(rows, row, centre, cut.columns, partial);
  finish(partial, cut.count, rows.count, sums, stream);
}

}  // namespace

Pieces pieces(std::size_t dim) {
  std::size_t columns = (dim + kPiecesMax - 1) / kPiecesMax;
  columns = (columns + kLanes - 1) / kLanes * kLanes;
  if (columns < kPieceColumnsMin) columns = kPieceColumnsMin;
  return {static_cast<unsigned>((dim + columns - 1) / columns), columns};
}

void products_of_row(const Rows& rows, const float* row, const float* centre, double* partial,
                     double* products, cudaStream_t stream) {
  if (centre == nullptr) {
    run_rows<Job::kProducts>(rows, row, nullptr, partial, products, stream);
  } else {
    run_rows<Job::kCentredProducts>(rows, row, centre, partial, products, stream);
  }
}

void squared_distances(const Rows& rows, const float* point, double* partial, double* distances,
                       cudaStream_t stream) {
  if (point == nullptr) {
    run_rows<Job::kNorms>(rows, nullptr, nullptr, partial, distances, stream);
  } else {
    run_rows<Job::kDistances>(rows, nullptr, point, partial, distances, stream);
  }
}

void products_of_tiles(const Rows& rows, const float* centre, unsigned first, unsigned count,
                       double* partial, double* products, cudaStream_t stream) {
  const Pieces cut = pieces(rows.dim);
  const unsigned halves = 2 * count, groups = (halves + kWarpsMax - 1) / kWarpsMax;
  const dim3 blocks(groups, cut.count);
  const unsigned threads = (halves + groups - 1) / groups * kLanes;
  if (centre == nullptr) {
    tile_kernel<false>
        <<<blocks, threads, 0, stream>>>(rows, nullptr, first, count, cut.columns, partial);
  } else {
    tile_kernel<true>
        <<<blocks, threads, 0, stream>>>(rows, centre, first, count, cut.columns, partial);
  }
  finish(partial, cut.count, count * kTilePairs, products, stream);
}

}  // namespace ballast::kernels::cuda
