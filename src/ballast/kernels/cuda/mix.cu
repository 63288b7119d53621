// Sums of coefficients times rows, added in the order of the rows in double precision.

#include <cfloat>

#include "ballast/kernels/cuda/fours.h"
#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kColumns = 4;  // of a thread, so that enough loads are on their way
constexpr unsigned kOutputs = 8;  // of a thread

__device__ float saturated(double sum) {
  const double largest = FLT_MAX;
  return __double2float_rn(fmin(fmax(sum, -largest), largest));
}

// Where all rows and the result are aligned: four neighbouring columns of a thread.
__global__ void __launch_bounds__(kThreads)
    combine_fours_kernel(const __grid_constant__ Terms terms, std::size_t dim, float* out) {
  const std::size_t j = (static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x) * kColumns;
  if (j >= dim) return;
  double sum[kColumns] = {};
#pragma unroll 8
  for (unsigned k = 0; k < terms.count; ++k) {
    const Four<float> x = load_four<true>(terms.row[k], j, dim);
#pragma unroll
    for (unsigned c = 0; c < kColumns; ++c) {
      sum[c] = fma(terms.coefficient[k], static_cast<double>(x.of[c]), sum[c]);
    }
  }
  store_four({saturated(sum[0]), saturated(sum[1]), saturated(sum[2]), saturated(sum[3])}, out, j,
             dim);
}

__global__ void __launch_bounds__(kThreads)
    combine_kernel(const __grid_constant__ Terms terms, std::size_t dim, float* out) {
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * kThreads * kColumns + threadIdx.x;
  if (first + (kColumns - 1) * kThreads < dim) {
    double sum[kColumns] = {};
#pragma unroll 4
    for (unsigned k = 0; k < terms.count; ++k) {
      const float* __restrict__ row = terms.row[k] + first;
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c) {
        sum[c] = fma(terms.coefficient[k], static_cast<double>(row[c * kThreads]), sum[c]);
      }
    }
#pragma unroll
    for (unsigned c = 0; c < kColumns; ++c) out[first + c * kThreads] = saturated(sum[c]);
    return;
  }
  for (std::size_t j = first; j < dim; j += kThreads) {
    double sum = 0.0;
    for (unsigned k = 0; k < terms.count; ++k) {
      sum = fma(terms.coefficient[k], static_cast<double>(terms.row[k][j]), sum);
    }
    out[j] = saturated(sum);
  }
}

// More terms than travel with a launch: a block brings them in by pieces, for its columns.
constexpr unsigned kTermsOfPiece = 128;
__global__ void __launch_bounds__(kThreads)
    combine_many_kernel(const ManyTerms terms, std::size_t dim, float* __restrict__ out) {
  __shared__ const float* row_of[kTermsOfPiece];
  __shared__ double coefficient_of[kTermsOfPiece];
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * kThreads * kColumns + threadIdx.x;
  const bool is_whole = first - threadIdx.x + kColumns * kThreads <= dim;
  double sum[kColumns] = {};
  for (unsigned start = 0; start < terms.count; start += kTermsOfPiece) {
    const unsigned count = min(kTermsOfPiece, terms.count - start);
    __syncthreads();
    if (threadIdx.x < count) {
      row_of[threadIdx.x] = terms.row[start + threadIdx.x];
      coefficient_of[threadIdx.x] = terms.coefficient[start + threadIdx.x];
    }
    __syncthreads();
    if (is_whole) {
#pragma unroll 4
      for (unsigned k = 0; k < count; ++k) {
        const float* __restrict__ row = row_of[k] + first;
#pragma unroll
        for (unsigned c = 0; c < kColumns; ++c) {
          sum[c] = fma(coefficient_of[k], static_cast<double>(row[c * kThreads]), sum[c]);
        }
      }
    } else {
      for (unsigned k = 0; k < count; ++k) {
#pragma unroll
        for (unsigned c = 0; c < kColumns; ++c) {
          const std::size_t j = first + c * kThreads;
          if (j < dim) sum[c] = fma(coefficient_of[k], static_cast<double>(row_of[k][j]), sum[c]);
        }
      }
    }
  }
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c) {
    if (first + c * kThreads < dim) out[first + c * kThreads] = saturated(sum[c]);
  }
}

// Outputs [8 y, 8 y + 8) of the y-th row of blocks.
__global__ void __launch_bounds__(kThreads)
    mix_kernel(const __grid_constant__ Rows rows, const double* __restrict__ coefficients,
               unsigned out_count, float* const* __restrict__ out) {
  const std::size_t j = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= rows.dim) return;
  const unsigned first = blockIdx.y * kOutputs;
  double sum[kOutputs] = {};
#pragma unroll 4
  for (unsigned k = 0; k < rows.count; ++k) {
    const double x = rows[k][j];
#pragma unroll
    for (unsigned r = 0; r < kOutputs; ++r) {
      const unsigned row = first + r < out_count ? first + r : first;
      sum[r] = fma(coefficients[static_cast<std::size_t>(row) * rows.count + k], x, sum[r]);
    }
  }
#pragma unroll
  for (unsigned r = 0; r < kOutputs; ++r) {
    if (first + r < out_count) out[first + r][j] = saturated(sum[r]);
  }
}

}  // namespace

void combine(const Terms& terms, std::size_t dim, float* out, cudaStream_t stream) {
  constexpr std::size_t kOfBlock = kThreads * kColumns;
  const auto blocks = static_cast<unsigned>((dim + kOfBlock - 1) / kOfBlock);
  bool is_aligned = is_aligned_for_four(out);
  for (unsigned k = 0; k < terms.count; ++k) {
    is_aligned = is_aligned && is_aligned_for_four(terms.row[k]);
  }
  auto* const kernel = is_aligned ? combine_fours_kernel : combine_kernel;
  kernel<<<blocks, kThreads, 0, stream>>>(terms, dim, out);
}

void combine(const ManyTerms& terms, std::size_t dim, float* out, cudaStream_t stream) {
  constexpr std::size_t kOfBlock = kThreads * kColumns;
  const auto blocks = static_cast<unsigned>((dim + kOfBlock - 1) / kOfBlock);
  combine_many_kernel<<<blocks, kThreads, 0, stream>>>(terms, dim, out);
}

void mix(const Rows& rows, const double* coefficients, unsigned out_count, float* const* out,
         cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((rows.dim + kThreads - 1) / kThreads),
                    (out_count + kOutputs - 1) / kOutputs);
  mix_kernel<<<blocks, kThreads, 0, stream>>>(rows, coefficients, out_count, out);
}

}  // namespace ballast::kernels::cuda
