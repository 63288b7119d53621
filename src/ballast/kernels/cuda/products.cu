// Inner products and distances: sums over columns in the one order that launch.h states.

#include "ballast/kernels/cuda/fours.h"
#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr std::size_t kPieceColumnsMin = 512;
constexpr std::size_t kPiecesMax = 8192;
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

enum class Job { kDistances, kNorms };

// A warp takes eight rows, a block eight warps and one piece of the columns.
template <Job kJob>
__global__ void __launch_bounds__(kWarpsMax* kLanes)
    row_kernel(const __grid_constant__ Rows rows, const float* __restrict__ point,
               std::size_t piece_columns, std::size_t width, double* partial) {
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
    double origin = 0.0;
    if constexpr (kJob == Job::kDistances) origin = point[j];
#pragma unroll
    for (unsigned i = 0; i < kRowsOfWarp; ++i) {
      const double x = mine[i][j] - origin;
      sums[i] = fma(x, x, sums[i]);
    }
  }
  const double sum = add_lanes(sums, lane);
  constexpr unsigned kLanesOfSum = kLanes / kRowsOfWarp;
  const unsigned which = first + lane / kLanesOfSum;
  if (lane % kLanesOfSum == 0 && which < rows.count) partial[blockIdx.x * width + which] = sum;
}

// ---- products, on the tensor cores: eight rows by eight rows by four columns at a time

// Rows are multiplied in groups of eight. Lane l has four columns of row l / 4 of a group; the
// columns of the four lanes of a row lie side by side. Which four columns meet in one step does not
// matter as long as both groups take the same.
constexpr unsigned kGroup = kRowsOfWarp;
constexpr unsigned kOfLane = 4;  // columns
constexpr unsigned kOfStep = 16;

// sums[2 l], sums[2 l + 1] of all lanes are the 8 x 8 products, row by row. Each is a chain of
// fused multiplications and additions in the order of the columns, whatever the shape of the
// instruction.
__device__ void multiply_add(double (&sums)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(sums[0]), "+d"(sums[1])
      : "d"(a), "d"(b));
}

// Two groups with one: newer devices do so in the same time.
__device__ void multiply_add(double (&upper)[2], double (&lower)[2], double a_upper, double a_lower,
                             double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
      : "d"(a_upper), "d"(a_lower), "d"(b));
#else
  multiply_add(upper, a_upper, b);
  multiply_add(lower, a_lower, b);
#endif
}

// The products of kLeft groups with kRight groups over the columns from start to end; where
// kIsSquare the groups are the same and only the upper triangle is made. The next columns are on
// their way while these are multiplied.
template <unsigned kLeft, unsigned kRight, bool kIsSquare, bool kIsCentred, bool kIsAligned>
__device__ void multiply_piece(const float* const (&left)[kLeft],
                               const float* const (&right)[kRight],
                               const float* __restrict__ centre, std::size_t start, std::size_t end,
                               double (&sums)[kLeft][kRight][2]) {
  const unsigned lane = threadIdx.x % kLanes;
  Four<float> next_a[kLeft], next_b[kIsSquare ? 1 : kRight], next_origin{};
  const auto load = [&](std::size_t j) {
#pragma unroll
    for (unsigned i = 0; i < kLeft; ++i) next_a[i] = load_four<kIsAligned>(left[i], j, end);
    if constexpr (!kIsSquare) {
#pragma unroll
      for (unsigned i = 0; i < kRight; ++i) next_b[i] = load_four<kIsAligned>(right[i], j, end);
    }
    if constexpr (kIsCentred) next_origin = load_four<false>(centre, j, end);
  };
#pragma unroll
  for (unsigned i = 0; i < kLeft; ++i) {
#pragma unroll
    for (unsigned k = 0; k < kRight; ++k) sums[i][k][0] = sums[i][k][1] = 0.0;
  }
  std::size_t j = start + lane % 4 * kOfLane;
  load(j);
#pragma unroll 1
  for (std::size_t step = start; step < end; step += kOfStep, j += kOfStep) {
    Four<float> a[kLeft], b[kIsSquare ? 1 : kRight];
    const Four<float> origin = next_origin;
#pragma unroll
    for (unsigned i = 0; i < kLeft; ++i) a[i] = next_a[i];
    if constexpr (!kIsSquare) {
#pragma unroll
      for (unsigned i = 0; i < kRight; ++i) b[i] = next_b[i];
    }
    if (step + kOfStep < end) load(j + kOfStep);
#pragma unroll
    for (unsigned e = 0; e < kOfLane; ++e) {
      const double from = kIsCentred ? static_cast<double>(origin.of[e]) : 0.0;
      double x[kLeft], y[kRight];
#pragma unroll
      for (unsigned i = 0; i < kLeft; ++i) x[i] = a[i].of[e] - from;
#pragma unroll
      for (unsigned i = 0; i < kRight; ++i) {
        if constexpr (kIsSquare) {
          y[i] = x[i];
        } else {
          y[i] = b[i].of[e] - from;
        }
      }
#pragma unroll
      for (unsigned i = 0; i < kLeft; i += 2) {
#pragma unroll
        for (unsigned k = kIsSquare ? i : 0; k < kRight; ++k) {
          if (i + 1 < kLeft && !(kIsSquare && k == i)) {
            multiply_add(sums[i][k], sums[(i + 1) % kLeft][k], x[i], x[(i + 1) % kLeft], y[k]);
          } else {
            multiply_add(sums[i][k], x[i], y[k]);
          }
        }
      }
    }
  }
}

// The rows of a lane in so many groups, the last one again where there are no more.
template <unsigned kGroups>
__device__ void find_rows(const Rows& rows, unsigned first_group, const float* (&found)[kGroups]) {
#pragma unroll
  for (unsigned i = 0; i < kGroups; ++i) {
    const unsigned row = (first_group + i) * kGroup + threadIdx.x % kLanes / 4;
    found[i] = rows[row < rows.count ? row : rows.count - 1];
  }
}

// Writes the products of two lists of groups down in a block of products, or adds them there.
template <unsigned kLeft, unsigned kRight>
__device__ void write_sums(const double (&sums)[kLeft][kRight][2], bool adds,
                           unsigned groups_across, double* block) {
#pragma unroll
  for (unsigned i = 0; i < kLeft; ++i) {
#pragma unroll
    for (unsigned k = 0; k < kRight; ++k) {
      double2* const place = reinterpret_cast<double2*>(block) +
                             (i * groups_across + k) * (kGroup * kGroup / 2) + threadIdx.x % kLanes;
      double2 sum{sums[i][k][0], sums[i][k][1]};
      if (adds) {
        sum.x = place->x + sum.x;
        sum.y = place->y + sum.y;
      }
      *place = sum;
    }
  }
}

// One row with all: a warp takes up to four groups and a piece. The columns of several steps are on
// their way at once: to be as fast as the memory a multiprocessor must have some 30 KB under way.
// Two groups are multiplied with the row together, which stands in every column of its matrix.
template <unsigned kGroups, bool kIsCentred, bool kIsAligned>
__global__ void __launch_bounds__(4 * kLanes)
    product_row_kernel(const __grid_constant__ Rows rows, const float* __restrict__ row,
                       const float* __restrict__ centre, const Pieces cut, double* partial) {
  constexpr unsigned kSteps = kGroups > 2 ? 2 : 4;  // at once
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned piece = blockIdx.x * 4 + threadIdx.x / kLanes;
  if (piece >= cut.count) return;
  const float* of_group[kGroups];
  find_rows(rows, blockIdx.y * kGroups, of_group);
  const std::size_t start = piece * cut.columns;
  const std::size_t end = start + cut.columns < rows.dim ? start + cut.columns : rows.dim;
  double sums[kGroups][2] = {};
#pragma unroll 1
  for (std::size_t first = start; first < end; first += kSteps * kOfStep) {
    Four<float> others[kSteps][kGroups], mine[kSteps], origin[kSteps];
#pragma unroll
    for (unsigned s = 0; s < kSteps; ++s) {
      const std::size_t j = first + s * kOfStep + lane % 4 * kOfLane;
#pragma unroll
      for (unsigned i = 0; i < kGroups; ++i) {
        others[s][i] = load_four<kIsAligned>(of_group[i], j, end);
      }
      mine[s] = load_four<kIsAligned>(row, j, end);
      if constexpr (kIsCentred) origin[s] = load_four<false>(centre, j, end);
    }
#pragma unroll
    for (unsigned s = 0; s < kSteps; ++s) {
#pragma unroll
      for (unsigned e = 0; e < kOfLane; ++e) {
        const double from = kIsCentred ? static_cast<double>(origin[s].of[e]) : 0.0;
        const double y = mine[s].of[e] - from;
#pragma unroll
        for (unsigned i = 0; i < kGroups; i += 2) {
          const double x = others[s][i].of[e] - from;
          if (i + 1 < kGroups) {
            const unsigned lower = (i + 1) % kGroups;
            multiply_add(sums[i], sums[lower], x, others[s][lower].of[e] - from, y);
          } else {
            multiply_add(sums[i], x, y);
          }
        }
      }
    }
  }
  if (lane % 4 != 0) return;
#pragma unroll
  for (unsigned i = 0; i < kGroups; ++i) {
    const unsigned which = (blockIdx.y * kGroups + i) * kGroup + lane / 4;
    if (which < rows.count) partial[std::size_t{piece} * rows.count + which] = sums[i][0];
  }
}

// All pairs of few rows: a warp takes all of them and a piece.
template <unsigned kGroups, bool kIsCentred, bool kIsAligned>
__global__ void __launch_bounds__(4 * kLanes, 4)
    small_block_kernel(const __grid_constant__ Rows rows, const float* __restrict__ centre,
                       const Pieces cut, double* partial) {
  constexpr unsigned kAcross = kSmallSide / kGroup;
  const unsigned piece = blockIdx.x * 4 + threadIdx.x / kLanes;
  if (piece >= cut.count) return;
  const float* mine[kGroups];
  find_rows(rows, 0, mine);
  const std::size_t start = piece * cut.columns;
  const std::size_t end = start + cut.columns < rows.dim ? start + cut.columns : rows.dim;
  double sums[kGroups][kGroups][2];
  multiply_piece<kGroups, kGroups, true, kIsCentred, kIsAligned>(mine, mine, centre, start, end,
                                                                 sums);
  write_sums(sums, false, kAcross, partial + std::size_t{piece} * kSmallSide * kSmallSide);
}

// The rows of the two sides of a block: blocks are numbered along the rows of the upper triangle.
__device__ void find_block(unsigned block, unsigned across, unsigned& left, unsigned& right) {
  left = 0;
  while (block >= across - left) {
    block -= across - left;
    ++left;
  }
  right = left + block;
}

// All pairs of many rows: a block of threads takes a block of 64 x 64 products and a strand of
// pieces, each of its four warps a quarter. Rows come from a cache for the second warp.
constexpr unsigned kQuarter = kLargeSide / 2 / kGroup;  // groups
template <bool kIsCentred, bool kIsAligned>
__global__ void __launch_bounds__(4 * kLanes, 3)
    large_block_kernel(const __grid_constant__ Rows rows, const float* __restrict__ centre,
                       unsigned first_block, const Pieces cut, double* partial) {
  constexpr std::size_t kProducts = kLargeSide * kLargeSide;
  const unsigned warp = threadIdx.x / kLanes;
  unsigned left = 0, right = 0;
  find_block(first_block + blockIdx.x, (rows.count + kLargeSide - 1) / kLargeSide, left, right);
  left = (2 * left + warp / 2) * kQuarter;
  right = (2 * right + warp % 2) * kQuarter;
  if (left > right || right * kGroup >= rows.count) return;
  double* const place = partial + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * kProducts +
                        ((warp / 2 * 2 * kQuarter) + warp % 2) * kQuarter * (kGroup * kGroup);
  const float *a[kQuarter], *b[kQuarter];
  find_rows(rows, left, a);
  find_rows(rows, right, b);
  for (unsigned piece = blockIdx.y; piece < cut.count; piece += gridDim.y) {
    const std::size_t start = piece * cut.columns;
    const std::size_t end = start + cut.columns < rows.dim ? start + cut.columns : rows.dim;
    double sums[kQuarter][kQuarter][2];
    if (left == right) {
      multiply_piece<kQuarter, kQuarter, true, kIsCentred, kIsAligned>(a, a, centre, start, end,
                                                                       sums);
    } else {
      multiply_piece<kQuarter, kQuarter, false, kIsCentred, kIsAligned>(a, b, centre, start, end,
                                                                        sums);
    }
    write_sums(sums, piece != blockIdx.y, 2 * kQuarter, place);
  }
}

// Adds what the pieces, or strands of them, left at `width` numbers apart: a thread takes some
// strands of four sums.
constexpr unsigned kFinishThreads = 128;
__global__ void __launch_bounds__(kFinishThreads)
    finish_kernel(const double* __restrict__ partial, unsigned part_count, std::size_t width,
                  unsigned count, double* sums) {
  constexpr unsigned kSums = 4, kWarps = kFinishThreads / kLanes;
  __shared__ double of_warp[kWarps][kSums];
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kSums;
  const unsigned lane = threadIdx.x % kLanes;
  double mine[kSums] = {};
  for (unsigned s = threadIdx.x; s < kStrands && s < part_count; s += kFinishThreads) {
    double strand[kSums] = {};
#pragma unroll 4
    for (unsigned p = s; p < part_count; p += kStrands) {
#pragma unroll
      for (unsigned k = 0; k < kSums; ++k) {
        if (first + k < count) strand[k] += partial[p * width + first + k];
      }
    }
#pragma unroll
    for (unsigned k = 0; k < kSums; ++k) mine[k] += strand[k];
  }
  const double sum = add_lanes(mine, lane);
  if (lane % (kLanes / kSums) == 0) of_warp[threadIdx.x / kLanes][lane / (kLanes / kSums)] = sum;
  __syncthreads();
  if (threadIdx.x >= kSums || first + threadIdx.x >= count) return;
  double all = 0.0;
  for (unsigned warp = 0; warp < kWarps; ++warp) all += of_warp[warp][threadIdx.x];
  sums[first + threadIdx.x] = all;
}

void finish(const double* partial, unsigned part_count, std::size_t width, unsigned count,
            double* sums, cudaStream_t stream) {
  finish_kernel<<<(count + 3) / 4, kFinishThreads, 0, stream>>>(partial, part_count, width, count,
                                                                sums);
}

// Blocks of warps that take a group of rows each, for every piece.
struct RowLaunch {
  Pieces cut;
  dim3 blocks;
  unsigned threads;
};
RowLaunch row_launch(const Rows& rows) {
  const Pieces cut = pieces(rows.dim);
  const unsigned groups = (rows.count + kRowsOfWarp - 1) / kRowsOfWarp;
  const unsigned warps = groups < kWarpsMax ? groups : kWarpsMax;
  return {cut, dim3(cut.count, (groups + warps - 1) / warps), warps * kLanes};
}

// Calls run with whether there is a centre and whether rows are aligned, as constants.
template <typename Run>
void with_kind(bool is_centred, bool is_aligned, const Run& run) {
  if (is_centred) {
    is_aligned ? run(std::true_type(), std::true_type()) : run(std::true_type(), std::false_type());
  } else {
    is_aligned ? run(std::false_type(), std::true_type())
               : run(std::false_type(), std::false_type());
  }
}

template <unsigned kGroups>
void run_row(const Rows& rows, const float* row, const float* centre, double* partial,
             cudaStream_t stream) {
  const Pieces cut = pieces(rows.dim);
  const unsigned across = (rows.count + kGroups * kGroup - 1) / (kGroups * kGroup);
  with_kind(centre != nullptr, rows.is_aligned, [&](auto is_centred, auto is_aligned) {
    product_row_kernel<kGroups, is_centred(), is_aligned()>
        <<<dim3((cut.count + 3) / 4, across), 4 * kLanes, 0, stream>>>(rows, row, centre, cut,
                                                                       partial);
  });
}

template <unsigned kGroups>
void run_small_block(const Rows& rows, const float* centre, double* partial, cudaStream_t stream) {
  const Pieces cut = pieces(rows.dim);
  with_kind(centre != nullptr, rows.is_aligned, [&](auto is_centred, auto is_aligned) {
    small_block_kernel<kGroups, is_centred(), is_aligned()>
        <<<(cut.count + 3) / 4, 4 * kLanes, 0, stream>>>(rows, centre, cut, partial);
  });
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
  auto* const run = rows.count <= kGroup       ? run_row<1>
                    : rows.count <= 2 * kGroup ? run_row<2>
                    : rows.count <= 3 * kGroup ? run_row<3>
                                               : run_row<4>;
  run(rows, row, centre, partial, stream);
  finish(partial, pieces(rows.dim).count, rows.count, rows.count, products, stream);
}

void squared_distances(const Rows& rows, const float* point, double* partial, double* distances,
                       cudaStream_t stream) {
  const RowLaunch launch = row_launch(rows);
  auto* const kernel = point == nullptr ? row_kernel<Job::kNorms> : row_kernel<Job::kDistances>;
  kernel<<<launch.blocks, launch.threads, 0, stream>>>(rows, point, launch.cut.columns, rows.count,
                                                       partial);
  finish(partial, launch.cut.count, rows.count, rows.count, distances, stream);
}

void products_of_blocks(const Rows& rows, const float* centre, const ProductBlocks& blocks,
                        double* partial, double* products, cudaStream_t stream) {
  const unsigned of_block = blocks.side * blocks.side;
  if (blocks.side == kSmallSide) {
    const unsigned groups = (rows.count + kGroup - 1) / kGroup;
    auto* const run = groups == 1   ? run_small_block<1>
                      : groups == 2 ? run_small_block<2>
                      : groups == 3 ? run_small_block<3>
                                    : run_small_block<4>;
    run(rows, centre, partial, stream);
  } else {
    with_kind(centre != nullptr, rows.is_aligned, [&](auto is_centred, auto is_aligned) {
      large_block_kernel<is_centred(), is_aligned()>
          <<<dim3(blocks.count, blocks.parts), 4 * kLanes, 0, stream>>>(rows, centre, blocks.first,
                                                                        pieces(rows.dim), partial);
    });
  }
  finish(partial, blocks.parts, std::size_t{blocks.count} * of_block, blocks.count * of_block,
         products, stream);
}

}  // namespace ballast::kernels::cuda
