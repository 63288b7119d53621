// Moves values between the two layouts of plan.h. Included once per SIMD target.

#if defined(BALLAST_NN_CPU_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_NN_CPU_TRANSPOSE_INL_H_
#undef BALLAST_NN_CPU_TRANSPOSE_INL_H_
#else
#define BALLAST_NN_CPU_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A matrix in memory: row r starts at data + r * stride.
struct MatrixView {
  const float* data;
  std::size_t stride;
};
struct MutableMatrixView {
  float* data;
  std::size_t stride;
};

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void transpose_4x4(MatrixView from, MutableMatrixView to) {
  const hn::FixedTag<float, 4> d;
  const auto row0 = hn::LoadU(d, from.data);
  const auto row1 = hn::LoadU(d, from.data + from.stride);
  const auto row2 = hn::LoadU(d, from.data + 2 * from.stride);
  const auto row3 = hn::LoadU(d, from.data + 3 * from.stride);
  const auto even_low = hn::InterleaveLower(d, row0, row2);
  const auto even_high = hn::InterleaveUpper(d, row0, row2);
  const auto odd_low = hn::InterleaveLower(d, row1, row3);
  const auto odd_high = hn::InterleaveUpper(d, row1, row3);
  hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to.data);
  hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to.data + to.stride);
  hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to.data + 2 * to.stride);
  hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to.data + 3 * to.stride);
}
#endif

// to[c][r] = from[r][c]. The values may be the bits of integers.
HWY_INLINE void transpose(MatrixView from, std::size_t rows, std::size_t columns,
                          MutableMatrixView to) {
  std::size_t blocked_rows = 0, blocked_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  blocked_rows = rows / 4 * 4;
  blocked_columns = columns / 4 * 4;
  for (std::size_t r = 0; r < blocked_rows; r += 4) {
    for (std::size_t c = 0; c < blocked_columns; c += 4) {
      transpose_4x4({from.data + r * from.stride + c, from.stride},
                    {to.data + c * to.stride + r, to.stride});
    }
  }
#endif
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = r < blocked_rows ? blocked_columns : 0; c < columns; ++c) {
      to.data[c * to.stride + r] = from.data[r * from.stride + c];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#endif
