// Medians and trimmed means of up to 128 rows: a thread sorts a column in its registers. The exact
// values stay beside it in shared memory, where a thread reads the row that the sort found. There
// is a kernel for each number of rows up to 32 and one for every 16 beyond.

#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr unsigned kBlocksMax = 16384;
constexpr unsigned kExactRows = 32;
constexpr unsigned kRowsStep = 16;  // beyond
constexpr unsigned threads_of(unsigned rows) { return rows > 64 ? 64 : 128; }
constexpr unsigned blocks_of_sm(unsigned rows) {
  return rows > 96 ? 5 : rows > 64 ? 7 : rows > 48 ? 5 : rows > 32 ? 4 : rows > 24 ? 6 : 8;
}

// The values of a thread's column; rows of shared memory are one value per thread, so that threads
// never wait for each other's banks.
template <unsigned kRows>
struct SharedColumn {
  const float* values;
  __device__ float operator()(unsigned row) const { return values[row * threads_of(kRows)]; }
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
    exact[i * threads_of(kRows)] = tags[i];
    tags[i] = make_tag<kRows>(tags[i], i);
  }
  sort_tags<kRows>(tags);
}

template <unsigned kRows>
__global__ void __launch_bounds__(threads_of(kRows), blocks_of_sm(kRows))
    median_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                  const RankRange ranks, const MedianPlaces out) {
  constexpr unsigned kThreads = threads_of(kRows);
  __shared__ float values[kRows * kThreads];
  __shared__ std::uint32_t shared_units[kRows];
  for (unsigned i = threadIdx.x; i < kRows; i += kThreads) shared_units[i] = units.few[i];
  __syncthreads();
  const SharedColumn<kRows> column{values + threadIdx.x};
  const SharedUnits weight{shared_units};
  const auto total = static_cast<std::uint32_t>(units.total);
  for (std::size_t j = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; j < rows.dim;
       j += static_cast<std::size_t>(gridDim.x) * kThreads) {
    float tags[kRows];
    load_column<kRows>(rows, j, values + threadIdx.x, tags);
    const Reached at = reach<kRows>(tags, column, weight, total - total / 2, ranks);
    const float median = median_at(column, weight, kRows, total, at.standing);
    remember(out, j, median, to_remember(at.standing, total, at.gap.lower, at.gap.upper));
  }
}

template <unsigned kRows>
__global__ void __launch_bounds__(threads_of(kRows), blocks_of_sm(kRows))
    trimmed_mean_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                        const RankRange low_ranks, const RankRange high_ranks, const Cuts cuts,
                        const std::uint32_t low_threshold, const std::uint32_t high_threshold,
                        float* __restrict__ out) {
  constexpr unsigned kThreads = threads_of(kRows);
  __shared__ float values[kRows * kThreads];
  __shared__ std::uint32_t shared_units[kRows];
  for (unsigned i = threadIdx.x; i < kRows; i += kThreads) shared_units[i] = units.few[i];
  __syncthreads();
  const SharedColumn<kRows> column{values + threadIdx.x};
  const SharedUnits weight{shared_units};
  for (std::size_t j = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; j < rows.dim;
       j += static_cast<std::size_t>(gridDim.x) * kThreads) {
    float tags[kRows];
    load_column<kRows>(rows, j, values + threadIdx.x, tags);
    const auto low = reach<kRows>(tags, column, weight, low_threshold, low_ranks).standing;
    const auto high = reach<kRows>(tags, column, weight, high_threshold, high_ranks).standing;
    const double inside = sum_between(column, weight, 0, kRows, 1, low, high);
    out[j] = trimmed_mean(inside, cuts, low, high);
  }
}

unsigned blocks_for(std::size_t dim, unsigned rows) {
  const std::size_t blocks = (dim + threads_of(rows) - 1) / threads_of(rows);
  return static_cast<unsigned>(blocks < kBlocksMax ? blocks : kBlocksMax);
}

// Calls run with the first of kFirst, kFirst + kStep, ... that is not below the number of rows as a
// constant.
template <unsigned kFirst, unsigned kStep, typename Run, std::size_t... kIndex>
void with_row_count(unsigned count, const Run& run, std::index_sequence<kIndex...>) {
  const unsigned index = count <= kFirst ? 0 : (count - kFirst + kStep - 1) / kStep;
  ((index == kIndex ? run(std::integral_constant<unsigned, kFirst + kStep * kIndex>()) : void()),
   ...);
}
template <typename Run>
void with_row_count(unsigned count, const Run& run) {
  if (count <= kExactRows) {
    with_row_count<1, 1>(count, run, std::make_index_sequence<kExactRows>());
  } else {
    constexpr unsigned kFirst = kExactRows + kRowsStep;
    with_row_count<kFirst, kRowsStep>(
        count, run, std::make_index_sequence<(kFewRows - kExactRows) / kRowsStep>());
  }
}

}  // namespace

void median_of_few(const Rows& rows, const Units& units, const RankRange& ranks,
                   const MedianPlaces& out, cudaStream_t stream) {
  with_row_count(rows.count, [&](auto count) {
    median_kernel<count()><<<blocks_for(rows.dim, count()), threads_of(count()), 0, stream>>>(
        rows, units, ranks, out);
  });
}

void trimmed_mean_of_few(const Rows& rows, const Units& units, const RankRange& low_ranks,
                         const RankRange& high_ranks, const Cuts& cuts, float* out,
                         cudaStream_t stream) {
  const CutThresholds at = cut_thresholds(cuts, units.total);
  with_row_count(rows.count, [&](auto count) {
    trimmed_mean_kernel<count()><<<blocks_for(rows.dim, count()), threads_of(count()), 0, stream>>>(
        rows, units, low_ranks, high_ranks, cuts, static_cast<std::uint32_t>(at.low),
        static_cast<std::uint32_t>(at.high), out);
  });
}

}  // namespace ballast::kernels::cuda
