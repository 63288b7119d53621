#pragma once
// Private to kernels/: the kernels, as the host side starts them. All pointers are the device's;
// everything is queued on the given stream and nothing is waited for. backend.h states what each
// computes.
//
// Sums over columns have one order, whatever the device and whichever rows are asked for together:
// the columns are cut into pieces; in a piece lane l of a warp adds the columns l, l + 32, ... one
// after the other, then the lanes are added as a tree, then the pieces in the same way.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/kernels/cuda/column.h"

namespace ballast::kernels::cuda {

inline constexpr unsigned kFewRows = 64;  // travel with the launch; more lie in device memory
inline constexpr unsigned kLanes = 32;

struct Rows {
  const float* few[kFewRows];
  const float* const* many;  // null: few
  unsigned count;
  std::size_t dim;
  BALLAST_COLUMN const float* operator[](unsigned i) const {
    return many == nullptr ? few[i] : many[i];
  }
};

struct Units {
  std::uint32_t few[kFewRows];  // where the weights are narrow and the rows few
  const std::uint64_t* many;    // null: few
  std::uint64_t total;
  bool is_narrow;
};

// ---- columns

// The median, with the standing of its value where `below` and `at` are given; at is 0 where the
// median lies between two values.
struct MedianPlaces {
  float* median;
  std::uint32_t* below;
  std::uint32_t* at;
};

// Requires: rows and weights that travel with the launch.
void median_of_few(const Rows& rows, const Units& units, const RankRange& ranks,
                   const MedianPlaces& out, cudaStream_t stream);
void trimmed_mean_of_few(const Rows& rows, const Units& units, const RankRange& low_ranks,
                         const RankRange& high_ranks, const Cuts& cuts, float* out,
                         cudaStream_t stream);

// Any number of rows, any weights. Requires: rows in device memory as well as weights.
void median_of_many(const Rows& rows, const Units& units, const MedianPlaces& out,
                    cudaStream_t stream);
void trimmed_mean_of_many(const Rows& rows, const Units& units, const Cuts& cuts, float* out,
                          cudaStream_t stream);

// Brings medians and standings up to date after one row was replaced. Up to kSampleMax blocks of
// columns, evenly spread, leave in `searched`, memory of the host that the device sees, how many of
// their columns had to be searched; returns how many columns they have. Requires: narrow weights.
inline constexpr unsigned kSampleMax = 64;
struct RowReplacement {
  const float* old_values;
  const float* new_values;
  ReplacedRow weights;
};
std::size_t follow_median(const Rows& rows, const Units& units, const RowReplacement& replacement,
                          const MedianPlaces& places, std::uint32_t* searched, cudaStream_t stream);

// ---- sums over columns; the results may lie in host memory that the device sees

// How many pieces there are, and the columns of each.
struct Pieces {
  unsigned count;
  std::size_t columns;
};
Pieces pieces(std::size_t dim);

// products[j] = <row - centre, row_j - centre>. Null centre: the origin.
// `partial` holds rows.count * pieces doubles.
void products_of_row(const Rows& rows, const float* row, const float* centre, double* partial,
                     double* products, cudaStream_t stream);
void squared_distances(const Rows& rows, const float* point, double* partial, double* distances,
                       cudaStream_t stream);

// The products of all pairs of rows are made in tiles of 8 x 8 rows, from the diagonal to the
// right; products[64 t + 8 a + b] is that of row a and row b of the t-th tile's two groups.
inline constexpr unsigned kTileRows = 8;
inline constexpr unsigned kTilePairs = kTileRows * kTileRows;
BALLAST_COLUMN unsigned tile_count(unsigned rows) {
  const unsigned groups = (rows + kTileRows - 1) / kTileRows;
  return groups * (groups + 1) / 2;
}
// The tiles [first, first + count) of all; `partial` holds count * 64 * pieces doubles.
void products_of_tiles(const Rows& rows, const float* centre, unsigned first, unsigned count,
                       double* partial, double* products, cudaStream_t stream);

// ---- mixtures

inline constexpr unsigned kTermsMax = 64;
struct Terms {
  const float* row[kTermsMax];
  double coefficient[kTermsMax];
  unsigned count;
};
void combine(const Terms& terms, std::size_t dim, float* out, cudaStream_t stream);

// Requires: coefficients (out_count x rows.count) and the rows of `out` in device memory.
void mix(const Rows& rows, const double* coefficients, unsigned out_count, float* const* out,
         cudaStream_t stream);

// ---- one value at a time; *is_bad becomes 1 where a value is not finite, and is else left alone

void check_finite(const float* values, std::size_t size, std::uint32_t* is_bad,
                  cudaStream_t stream);
void copy_finite(const float* from, std::size_t size, float* to, std::uint32_t* is_bad,
                 cudaStream_t stream);
void descend(const float* w, const float* direction, double rate, std::size_t size, float* next,
             std::uint32_t* is_bad, cudaStream_t stream);
void average(const float* newest, const float* before, double share, std::size_t size, float* next,
             std::uint32_t* is_bad, cudaStream_t stream);
struct StepPlaces {
  const float *w, *direction, *x;
  float *next_w, *next_x;
};
void descend_and_average(const StepPlaces& places, double rate, double share, std::size_t size,
                         std::uint32_t* is_bad, cudaStream_t stream);

// Changes single words of an array in device memory; they travel with the launch.
inline constexpr unsigned kPatchMax = 224;
struct Patch {
  std::uint64_t word[kPatchMax];
  std::uint32_t place[kPatchMax];
  unsigned count;
};
void write_patch(const Patch& patch, std::uint64_t* to, cudaStream_t stream);

}  // namespace ballast::kernels::cuda
