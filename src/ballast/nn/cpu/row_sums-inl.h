// Sums of scaled rows, grouped by the row they are added to: the one kernel behind both gradients
// of a convolution. Included once per SIMD target.

#if defined(BALLAST_NN_CPU_ROW_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_NN_CPU_ROW_SUMS_INL_H_
#undef BALLAST_NN_CPU_ROW_SUMS_INL_H_
#else
#define BALLAST_NN_CPU_ROW_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ballast/nn/cpu/transpose-inl.h"
#include "ballast/nn/cpu/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Group g has the terms starts[g] .. starts[g + 1] - 1; each is values[t] times the rows at
// offsets[t], added to the rows at targets[g].
struct GroupedTerms {
  float* values;
  std::int32_t* offsets;
  std::int32_t* starts;
  std::int32_t* targets;
  std::size_t groups;
};

// Sums kept in registers at once: 15, one broadcast value, and AVX2 is full.
inline constexpr std::size_t kRowVectors = 15;
// Short rows are taken several at a time, to have enough independent sums.
inline constexpr std::size_t kShortRowVectors = 3;
inline constexpr std::size_t kShortRows = kRowVectors / kShortRowVectors;

template <class D, std::size_t kRows, std::size_t kVectors>
void add_row_block(const GroupedTerms& terms, MatrixView from, MutableMatrixView to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t group = 0; group < terms.groups; ++group) {
    float* target = to.data + terms.targets[group];
    hn::Vec<D> sums[kRows][kVectors];
    BALLAST_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      BALLAST_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::LoadU(d, target + r * to.stride + v * lanes);
      }
    }
    const std::int32_t end = terms.starts[group + 1];
    for (std::int32_t t = terms.starts[group]; t < end; ++t) {
      const auto value = hn::Set(d, terms.values[t]);
      const float* row = from.data + terms.offsets[t];
      BALLAST_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        BALLAST_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums[r][v] =
              hn::MulAdd(value, hn::LoadU(d, row + r * from.stride + v * lanes), sums[r][v]);
        }
      }
    }
    BALLAST_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      BALLAST_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        hn::StoreU(sums[r][v], d, target + r * to.stride + v * lanes);
      }
    }
  }
}

using AddRowBlock = void (*)(const GroupedTerms&, MatrixView, MutableMatrixView);

template <class D, std::size_t... kVectors>
constexpr auto long_row_blocks(std::index_sequence<kVectors...>) {
  return std::array<AddRowBlock, sizeof...(kVectors)>{add_row_block<D, 1, kVectors + 1>...};
}

template <class D, std::size_t kVectors, std::size_t... kRows>
constexpr auto short_row_blocks(std::index_sequence<kRows...>) {
  return std::array<AddRowBlock, sizeof...(kRows)>{add_row_block<D, kRows + 1, kVectors>...};
}

template <class D>
AddRowBlock row_block(std::size_t rows, std::size_t vectors) {
  using Rows = std::make_index_sequence<kShortRows>;
  static constexpr auto kLong = long_row_blocks<D>(std::make_index_sequence<kRowVectors>());
  static constexpr std::array<std::array<AddRowBlock, kShortRows>, kShortRowVectors> kShort = {
      short_row_blocks<D, 1>(Rows()), short_row_blocks<D, 2>(Rows()),
      short_row_blocks<D, 3>(Rows())};
  return rows == 1 ? kLong[vectors - 1] : kShort[vectors - 1][rows - 1];
}

struct RowShape {
  std::size_t rows;
  std::size_t length;  // in floats, a multiple of 8
};

// For every term and every r below shape.rows: adds value * from[r][offset ...] to to[r][target
// ...]. The rows are walked outermost, so that what one of them touches stays in the first cache.
template <class D>
void add_rows(D d, const GroupedTerms& terms, const RowShape& shape, MatrixView from,
              MutableMatrixView to) {
  const std::size_t lanes = hn::Lanes(d), vectors = shape.length / lanes;
  const std::size_t pieces = (vectors + kRowVectors - 1) / kRowVectors;
  const std::size_t rows_at_once = vectors <= kShortRowVectors ? kShortRows : 1;
  for (std::size_t r = 0; r < shape.rows; r += rows_at_once) {
    const std::size_t rows = std::min(rows_at_once, shape.rows - r);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::size_t first = vectors * piece / pieces;
      const std::size_t count = vectors * (piece + 1) / pieces - first;
      row_block<D>(rows, count)(terms, {from.data + r * from.stride + first * lanes, from.stride},
                                {to.data + r * to.stride + first * lanes, to.stride});
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#endif
