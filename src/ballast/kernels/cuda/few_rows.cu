// Medians and trimmed means of up to 64 rows: a thread sorts a column in its registers. The exact
// values stay beside it in shared memory, where a thread reads the row that the sort found. There
// is a kernel for each number of rows up to 32 and one for those beyond.

#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;
constexpr unsigned kBlocksMax = 16384;
constexpr unsigned kExactRows = 32;
constexpr unsigned blocks_of_sm(unsigned rows) { return rows > 32 ? 5 : rows > 24 ? 6 : 8; }

// The values of a thread's column; rows of shared memory are one value per thread, so that threads
// never wait for each other's banks.
struct SharedColumn {
  const float* values;
  __device__ float operator()(unsigned row) const { return values[row * kThreads]; }
};

struct SharedUnits {
  const std::uint32_t* units;
  __device__ std::uint32_t operator()(unsigned row) const { return units[row]; }
};

// Loads the column into shared memory and its tags, sorted, into registers.
template <unsigned kRows>
__device__ void load_column(const Rows& rows, std::size_t j, float* exact, float* tags) {
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i) {
    tags[i] = kRows <= kExactRows || i < rows.count ? __ldcs(rows.few[i] + j) : kNoRow;
  }
#pragma unroll
  for (unsigned i = 0; i < kRows; ++i) {
    exact[i * kThreads] = tags[i];
    tags[i] = make_tag<kRows>(tags[i], i);
  }
  sort_tags<kRows>(tags);
}

template <unsigned kRows>
__global__ void __launch_bounds__(kThreads, blocks_of_sm(kRows))
    median_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                  const RankRange ranks, const MedianPlaces out) {
  __shared__ float values[kRows * kThreads];
  __shared__ std::uint32_t shared_units[kFewRows];
  if (threadIdx.x < kRows) shared_units[threadIdx.x] = units.few[threadIdx.x];  // 0: no row
  __syncthreads();
  const SharedColumn column{values + threadIdx.x};
  const SharedUnits weight{shared_units};
  const auto total = static_cast<std::uint32_t>(units.total);
  for (std::size_t j = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; j < rows.dim;
       j += static_cast<std::size_t>(gridDim.x) * kThreads) {
    float tags[kRows];
    load_column<kRows>(rows, j, values + threadIdx.x, tags);
    const Standing<std::uint32_t> s = reach<kRows>(tags, column, weight, total - total / 2, ranks);
    out.median[j] = median_at(column, weight, kRows, total, s);
    if (out.below != nullptr) {
      const Standing<std::uint32_t> kept = to_remember(s, total);
      out.below[j] = kept.below;
      out.at[j] = kept.at;
    }
  }
}

template <unsigned kRows>
__global__ void __launch_bounds__(kThreads, blocks_of_sm(kRows))
    trimmed_mean_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                        const RankRange low_ranks, const RankRange high_ranks, const Cuts cuts,
                        const std::uint32_t low_threshold, const std::uint32_t high_threshold,
                        float* __restrict__ out) {
  __shared__ float values[kRows * kThreads];
  __shared__ std::uint32_t shared_units[kFewRows];
  if (threadIdx.x < kRows) shared_units[threadIdx.x] = units.few[threadIdx.x];  // 0: no row
  __syncthreads();
  const SharedColumn column{values + threadIdx.x};
  const SharedUnits weight{shared_units};
  for (std::size_t j = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; j < rows.dim;
       j += static_cast<std::size_t>(gridDim.x) * kThreads) {
    float tags[kRows];
    load_column<kRows>(rows, j, values + threadIdx.x, tags);
    const auto low = reach<kRows>(tags, column, weight, low_threshold, low_ranks);
    const auto high = reach<kRows>(tags, column, weight, high_threshold, high_ranks);
    const double inside = sum_between(column, weight, 0, kRows, 1, low, high);
    out[j] = trimmed_mean(inside, cuts, low, high);
  }
}

unsigned blocks_for(std::size_t dim) {
  const std::size_t blocks = (dim + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kBlocksMax ? blocks : kBlocksMax);
}

// Calls run with the number of rows, or one above, as a constant.
template <typename Run, std::size_t... kIndex>
void with_row_count(unsigned count, const Run& run, std::index_sequence<kIndex...>) {
  ((count == kIndex + 1 ? run(std::integral_constant<unsigned, kIndex + 1>()) : void()), ...);
}
template <typename Run>
void with_row_count(unsigned count, const Run& run) {
  if (count > kExactRows) return run(std::integral_constant<unsigned, kFewRows>());
  with_row_count(count, run, std::make_index_sequence<kExactRows>());
}

}  // namespace

void median_of_few(const Rows& rows, const Units& units, const RankRange& ranks,
                   const MedianPlaces& out, cudaStream_t stream) {
  with_row_count(rows.count, [&](auto count) {
    median_kernel<count()><<<blocks_for(rows.dim), kThreads, 0, stream>>>(rows, units, ranks, out);
  });
}

void trimmed_mean_of_few(const Rows& rows, const Units& units, const RankRange& low_ranks,
                         const RankRange& high_ranks, const Cuts& cuts, float* out,
                         cudaStream_t stream) {
  const CutThresholds at = cut_thresholds(cuts, units.total);
  with_row_count(rows.count, [&](auto count) {
    trimmed_mean_kernel<count()><<<blocks_for(rows.dim), kThreads, 0, stream>>>(
        rows, units, low_ranks, high_ranks, cuts, static_cast<std::uint32_t>(at.low),
        static_cast<std::uint32_t>(at.high), out);
  });
}

}  // namespace ballast::kernels::cuda
