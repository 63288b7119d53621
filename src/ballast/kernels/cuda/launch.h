#pragma once
// Private to kernels/: the kernels, as the host side starts them. All pointers are the device's;
// everything is queued on the given stream and nothing is waited for. backend.h states what each
// computes.
//
// Sums over columns have one order, whatever the device and whichever rows are asked for together:
// the columns are cut into pieces, whose sums are made in the same way for one row and for all;
// strand s adds the pieces s, s + 512, ... one after the other, and the strands are added as a
// tree.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/kernels/cuda/column.h"

namespace ballast::kernels::cuda {

inline constexpr unsigned kFewRows = 128;  // travel with the launch; more lie in device memory
inline constexpr unsigned kLanes = 32;

// Whether four values can be read from here at once.
inline bool is_aligned_for_four(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place) % (4 * sizeof(float)) == 0;
}

struct Rows {
  const float* few[kFewRows];
  const float* const* many;  // null: few
  unsigned count;
  bool is_aligned;  // all of them, so that four values can be read at once
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

// Where the median goes, and what is to be remembered of the column unless `below` is null.
struct MedianPlaces {
  float* median;
  std::uint32_t* below = nullptr;
  std::uint32_t* at = nullptr;
  float* lower = nullptr;
  float* upper = nullptr;
};
BALLAST_COLUMN void remember(const MedianPlaces& places, std::size_t j, float median,
                             const Remembered& kept) {
  places.median[j] = median;
  if (places.below == nullptr) return;
  places.below[j] = kept.below;
  places.at[j] = kept.at;
  places.lower[j] = kept.lower;
  places.upper[j] = kept.upper;
}

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

// The products of all pairs of rows are made in blocks of `side` rows by as many, numbered from the
// diagonal to the right, row by row; a block is made of 8 x 8 tiles, row by row, and so is a tile.
// Tiles left of the diagonal, and rows that there are not, hold anything.
inline constexpr unsigned kStrands = 512;
inline constexpr unsigned kSmallSide = 32, kLargeSide = 64, kTileSide = 8;
struct ProductBlocks {
  unsigned side;
  unsigned first, count;  // of the blocks
  unsigned parts;         // of the columns that are summed apart: all pieces, or kStrands
};
BALLAST_COLUMN unsigned block_side(unsigned rows) {
  return rows <= kSmallSide ? kSmallSide : kLargeSide;
}
BALLAST_COLUMN unsigned block_count(unsigned rows) {
  const unsigned across = (rows + block_side(rows) - 1) / block_side(rows);
  return across * (across + 1) / 2;
}
// `partial` holds parts * count * side * side doubles. Requires: all pieces where the side is
// small.
void products_of_blocks(const Rows& rows, const float* centre, const ProductBlocks& blocks,
                        double* partial, double* products, cudaStream_t stream);

// ---- mixtures

inline constexpr unsigned kTermsMax = 64;
struct Terms {
  const float* row[kTermsMax];
  double coefficient[kTermsMax];
  unsigned count;
};
void combine(const Terms& terms, std::size_t dim, float* out, cudaStream_t stream);

// The same for any number of terms, which lie in device memory.
struct ManyTerms {
  const float* const* row;
  const double* coefficient;
  unsigned count;
};
void combine(const ManyTerms& terms, std::size_t dim, float* out, cudaStream_t stream);

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

// next may be one of the others; *mark becomes NaN as *is_bad above becomes 1.
struct CorrectionPlaces {
  const float *gradient, *before, *reference;
  float *next, *mark;
};
void correct(const CorrectionPlaces& places, double keep, std::size_t size, cudaStream_t stream);

// Changes single words of an array in device memory; they travel with the launch.
inline constexpr unsigned kPatchMax = 224;
struct Patch {
  std::uint64_t word[kPatchMax];
  std::uint32_t place[kPatchMax];
  unsigned count;
};
void write_patch(const Patch& patch, std::uint64_t* to, cudaStream_t stream);

}  // namespace ballast::kernels::cuda
