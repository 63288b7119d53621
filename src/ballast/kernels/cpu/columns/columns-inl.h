// Columns of a table in SIMD lanes, one column per lane, and the counting of weights around a pivot
// that the weighted median and the trimmed mean are built from. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMNS_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMNS_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ballast/kernels/cpu/columns/column_job.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lanes for weights whose doubled sum fits into 32 bits.
struct Narrow {
  using D = hn::ScalableTag<float>;
  using DW = hn::RebindToSigned<D>;
  using Weight = std::int32_t;
  using Value = float;
  static const Weight* weights(const ColumnJob& job) { return job.narrow_weights.data(); }
  static HWY_INLINE hn::Vec<D> load(const float* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void store(hn::Vec<D> v, float* to) { hn::StoreU(v, D(), to); }
};

// Lanes for all other weights: values and weights 64 bits wide, half as many columns at once.
struct Wide {
  using D = hn::ScalableTag<double>;
  using DW = hn::RebindToSigned<D>;
  using Weight = std::int64_t;
  using Half = hn::Rebind<float, D>;
  using Value = double;
  static const Weight* weights(const ColumnJob& job) { return job.wide_weights.data(); }
  static HWY_INLINE hn::Vec<D> load(const float* from) {
    return hn::PromoteTo(D(), hn::LoadU(Half(), from));
  }
  // The mean of two neighbours of zero may round to -0: adding zero makes it +0.
  static HWY_INLINE void store(hn::Vec<D> v, float* to) {
    hn::StoreU(hn::Add(hn::DemoteTo(Half(), v), hn::Zero(Half())), Half(), to);
  }
};

template <typename Width>
using Values = hn::Vec<typename Width::D>;
template <typename Width>
using Sums = hn::Vec<typename Width::DW>;

// One vector of columns.
template <typename Width>
struct Columns {
  const float* const* rows;
  const typename Width::Weight* weights;
  std::size_t count;   // of rows
  std::size_t offset;  // of the first column in each row

  HWY_INLINE Values<Width> value(std::size_t row) const { return Width::load(rows[row] + offset); }
  HWY_INLINE Sums<Width> weight(std::size_t row) const {
    return hn::Set(typename Width::DW(), weights[row]);
  }
};

template <typename Width>
HWY_INLINE Columns<Width> columns_of(const ColumnJob& job, std::size_t offset) {
  return {job.rows.pointers().data(), Width::weights(job), job.rows.row_count(), offset};
}

template <typename Width, typename Mask>
HWY_INLINE Sums<Width> add_where(Mask mask, Sums<Width> sum, Sums<Width> weight) {
  const typename Width::DW dw;
#if HWY_TARGET <= HWY_AVX3  // which adds under a mask in one instruction
  return hn::IfThenElse(hn::RebindMask(dw, mask), hn::Add(sum, weight), sum);
#else
  return hn::Add(sum, hn::IfThenElseZero(hn::RebindMask(dw, mask), weight));
#endif
}

// Whole numbers in the order of the floating-point values (with -0 just below +0): processors take
// minima and maxima of integers twice as fast. The map is its own inverse.
template <typename Width>
HWY_INLINE Sums<Width> ordered_bits(Sums<Width> bits) {
  const typename Width::DW dw;
  constexpr int kSignShift = 8 * sizeof(typename Width::Weight) - 1;
  const auto all_but_sign = hn::Set(dw, std::numeric_limits<typename Width::Weight>::max());
  return hn::Xor(bits, hn::And(hn::ShiftRight<kSignShift>(bits), all_but_sign));
}
template <typename Width>
HWY_INLINE Sums<Width> key_of(Values<Width> value) {
  return ordered_bits<Width>(hn::BitCast(typename Width::DW(), value));
}

template <typename Width>
HWY_INLINE Values<Width> value_of(Sums<Width> key) {
  return hn::BitCast(typename Width::D(), ordered_bits<Width>(key));
}

template <typename Width>
HWY_INLINE Sums<Width> broadcast(std::int64_t weight) {
  return hn::Set(typename Width::DW(), static_cast<typename Width::Weight>(weight));
}

// (a + b) / 2 with one rounding and no overflow: large values are halved before they are added,
// which is exact for them, small ones afterwards. Adding zero turns -0 into +0.
template <typename Width>
HWY_INLINE Values<Width> midpoint(Values<Width> a, Values<Width> b) {
  const typename Width::D d;
  const auto half = hn::Set(d, 0.5), one = hn::Set(d, 1);
  const auto is_large = hn::Gt(hn::Max(hn::Abs(a), hn::Abs(b)), one);
  const auto large = hn::Add(hn::Mul(a, half), hn::Mul(b, half));
  const auto small = hn::Mul(hn::Add(a, b), half);
  return hn::Add(hn::IfThenElse(is_large, large, small), hn::Zero(d));
}

template <typename Width>
HWY_INLINE void store_first(Values<Width> values, std::size_t width, float* HWY_RESTRICT out) {
  if (width == hn::Lanes(typename Width::D())) {
    Width::store(values, out);
    return;
  }
  float lanes[64 / sizeof(float)];
  Width::store(values, lanes);
  std::copy_n(lanes, width, out);
}

constexpr std::size_t kLineFloats = 16;  // of a cache line

// Asks for the `width` columns that lie kCopiedColumns ahead, of the rows [first, last): the memory
// does not follow more than about twenty rows by itself. They go to the second-level cache, the
// first being full of what is worked on.
template <typename Width>
HWY_INLINE void prefetch_columns(const Columns<Width>& columns, std::size_t first, std::size_t last,
                                 std::size_t width) {
  for (std::size_t i = first; i < last; ++i) {
    const float* from = columns.rows[i] + columns.offset + kCopiedColumns;
    for (std::size_t j = 0; j < width; j += kLineFloats) __builtin_prefetch(from + j, 0, 2);
  }
}

// Copies the first `width` columns, and zeros up to `all`, to where their rows lie side by side:
// `pitch` columns of each row, a multiple of a cache line, and then the next. Rows that lie a
// multiple of the page size apart would otherwise fight for the same few places in the first-level
// cache on every pass.
template <typename Width>
HWY_INLINE Columns<Width> copy_columns(const Columns<Width>& columns, std::size_t width,
                                       const ColumnScratch& scratch,
                                       std::size_t all = kCopiedColumns,
                                       std::size_t pitch = kCopiedColumns) {
  const hn::ScalableTag<float> d;
  const std::size_t to_next = columns.count * pitch;
  for (std::size_t i = 0; i < columns.count; ++i) {
    float* to = scratch.copies + i * pitch;
    const float* from = columns.rows[i] + columns.offset;
    scratch.copied_rows[i] = to;
    float padded[kCopiedColumns];
    if (width < all) {
      std::fill(std::copy_n(from, width, padded), padded + all, 0.0f);
      from = padded;
    }
    for (std::size_t at = 0; at < all; at += pitch, from += pitch, to += to_next) {
      for (std::size_t j = 0; j < pitch; j += hn::Lanes(d)) {
        hn::Store(hn::LoadU(d, from + j), d, to + j);
      }
    }
  }
  return {scratch.copied_rows, columns.weights, columns.count, 0};
}

// Columns of each row that will be read soon, so many from `offset` on.
struct Ahead {
  const float* const* rows;
  std::size_t offset, count;
};

// Calls visit(columns, position, width) for up to `together` columns at a time of [begin, end),
// from copies. The last may be padded with zeros; its visitor writes only the first `width`
// results. A visitor that takes what lies ahead too asks for it itself, between other work.
// Requires: `together` divides columns_to_copy().
template <typename Width, typename Visit>
HWY_INLINE void for_each_copied_group(const ColumnJob& job, std::size_t begin, std::size_t end,
                                      const ColumnScratch& scratch, std::size_t together,
                                      const Visit& visit) {
  const std::size_t fetched = columns_to_fetch(job.rows.row_count());
  const std::size_t pitch = columns_to_copy(job.rows.row_count());
  for (std::size_t start = begin; start < end; start += fetched) {
    const std::size_t count = HWY_MIN(fetched, end - start);
    const Columns<Width> original = columns_of<Width>(job, start);
    Columns<Width> columns = copy_columns<Width>(original, count, scratch, fetched, pitch);
    for (std::size_t at = 0; at < count; at += together) {
      columns.offset = at / pitch * pitch * columns.count + at % pitch;
      const std::size_t position = start + at, width = HWY_MIN(together, count - at);
      if constexpr (std::is_invocable_v<Visit, Columns<Width>, std::size_t, std::size_t, Ahead>) {
        visit(columns, position, width, Ahead{original.rows, position + fetched, together});
      } else {
        // A share of the rows each time: the processor waits for only so many lines at once.
        prefetch_columns(original, at * columns.count / fetched,
                         (at + together) * columns.count / fetched, fetched);
        visit(columns, position, width);
      }
    }
  }
}

// Calls visit(columns, position, width) for each vector of columns in [begin, end), where they lie;
// only the last, partial vector is a copy.
template <typename Width, typename Visit>
HWY_INLINE void for_each_vector(const ColumnJob& job, std::size_t begin, std::size_t end,
                                const ColumnScratch& scratch, const Visit& visit) {
  const std::size_t lanes = hn::Lanes(typename Width::D());
  Columns<Width> columns = columns_of<Width>(job, begin);
  for (; columns.offset + lanes <= end; columns.offset += lanes) {
    if (columns.offset % kLineFloats == 0) {
      prefetch_columns(columns, 0, columns.count, HWY_MAX(lanes, kLineFloats));
    }
    visit(columns, columns.offset, lanes);
  }
  for_each_copied_group<Width>(job, columns.offset, end, scratch, lanes, visit);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
