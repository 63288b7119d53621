// Medians and trimmed means of any number of rows by selection.h. A block takes some columns and is
// their crew: the threads of a column share its rows. Up to 4096 rows a thread holds its values in
// registers, so that the table is read once; beyond, it reads them again for each pass.

#include "ballast/kernels/cuda/launch.h"
#include "ballast/kernels/cuda/selection.h"

namespace ballast::kernels::cuda {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr unsigned kHeld = 32;           // values of a thread
constexpr unsigned kAtOnce = 4;          // of them, are skipped together
constexpr unsigned kStride = kHeld + 4;  // of the units of two threads: other banks, still aligned
constexpr unsigned kThreadsMax = 1024;
constexpr unsigned kBlocksMax = 132 * 16;

template <typename Sum>
struct alignas(16) Quad {
  Sum of[4];
};

// What the threads of a block tell each other about each column.
template <typename Sum, unsigned kColumns>
struct Board {
  float pivot[kColumns], low[kColumns], high[kColumns];
  Sum below[kColumns];
  Sum sum[kColumns];
  std::uint32_t smallest[kColumns], largest[kColumns];  // keys
  unsigned candidate_count[kColumns];
  float candidates[kCandidatesMax][kColumns];
  Sum candidate_units[kCandidatesMax][kColumns];
  Standing<Sum> picked[kColumns];
};

// What a block keeps in dynamic shared memory, in this order: the units of its rows, thread by
// thread, where the rows lie, and, in the end, sums of doubles for each thread.
struct Layout {
  unsigned groups;  // threads of a column; number g has the rows g, g + groups, ...
  unsigned share;   // rows of such a thread, rounded up
  std::size_t rows_at, sums_at, bytes;
};

template <typename Sum, unsigned kColumns, bool kIsHeld>
struct BlockCrew {
  using Board = cuda::Board<Sum, kColumns>;
  Board& board;
  const Rows& rows;
  const Units& units;
  const Layout& layout;
  const Sum* held_units;          // of this thread
  const float* const* held_rows;  // of this thread
  unsigned mine, group;
  std::size_t column = 0;
  float held[kIsHeld ? kHeld : 1];

  __device__ BlockCrew(Board& board, const Rows& rows, const Units& units, const Layout& layout,
                       unsigned char* shared)
      : board(board),
        rows(rows),
        units(units),
        layout(layout),
        mine(threadIdx.x % kColumns),
        group(threadIdx.x / kColumns) {
    auto* const all_units = reinterpret_cast<Sum*>(shared);
    auto* const all_rows = reinterpret_cast<const float**>(shared + layout.rows_at);
    held_units = all_units + group * kStride;
    held_rows = all_rows + group * kStride;
    if constexpr (kIsHeld) {
      // Where there are no more rows, some again without a weight: they change nothing.
      for (unsigned i = threadIdx.x; i < layout.groups * kHeld; i += blockDim.x) {
        const unsigned place = i % layout.groups * kStride + i / layout.groups;
        all_units[place] = i < rows.count ? static_cast<Sum>(units.many[i]) : 0;
        all_rows[place] = rows.many[i % rows.count];
      }
    }
    clear();
    __syncthreads();
  }

  // Takes over another column.
  __device__ void open(std::size_t which) {
    column = which < rows.dim ? which : rows.dim - 1;
    if constexpr (kIsHeld) {
#pragma unroll
      for (unsigned first = 0; first < kHeld; first += kAtOnce) {
        if (first >= layout.share) continue;
#pragma unroll
        for (unsigned i = first; i < first + kAtOnce; i += 2) {
          const auto two = *reinterpret_cast<const ulonglong2*>(held_rows + i);
          held[i] = __ldg(reinterpret_cast<const float*>(two.x) + column);
          held[i + 1] = __ldg(reinterpret_cast<const float*>(two.y) + column);
        }
      }
    }
  }

  // Calls work(i, value, units) for each row of this thread.
  template <typename Work>
  __device__ void for_each_row(const Work& work) const {
    if constexpr (kIsHeld) {
#pragma unroll
      for (unsigned first = 0; first < kHeld; first += kAtOnce) {
        if (first >= layout.share) continue;
#pragma unroll
        for (unsigned i = first; i < first + kAtOnce; i += 4) {
          const auto four = *reinterpret_cast<const Quad<Sum>*>(held_units + i);
#pragma unroll
          for (unsigned k = 0; k < 4; ++k) work(i + k, held[i + k], four.of[k]);
        }
      }
    } else {
#pragma unroll 4
      for (unsigned i = 0; i < layout.share; ++i) {
        const unsigned row = i * layout.groups + group;
        if (row < rows.count) work(i, rows.many[row][column], static_cast<Sum>(units.many[row]));
      }
    }
  }

  __device__ bool leads() const { return group == 0; }
  __device__ bool any(bool answer) const { return __syncthreads_or(answer) != 0; }

  // Requires: the leader, and that nobody looks at the board any more.
  __device__ void publish(const Bracket<Sum>& b, float pivot) {
    board.low[mine] = b.low;
    board.high[mine] = b.high;
    board.below[mine] = b.below;
    board.pivot[mine] = pivot;
    clear();
  }

  __device__ Sum weight_through() {
    const float pivot = board.pivot[mine];
    Sum sum = 0;
    for_each_row([&](unsigned, float x, Sum weight) { sum += x <= pivot ? weight : 0; });
#pragma unroll
    for (unsigned apart = kLanes / 2; apart >= kColumns; apart /= 2) {
      sum += __shfl_xor_sync(0xFFFFFFFFu, sum, apart);
    }
    if (threadIdx.x % kLanes < kColumns) add(&board.sum[mine], sum);
    __syncthreads();
    return leads() ? board.sum[mine] : 0;
  }

  __device__ Extremes extremes() {
    const float low = board.low[mine], high = board.high[mine];
    float smallest = kInfinity, largest = -kInfinity;
    for_each_row([&](unsigned, float x, Sum) {
      if (!(x > low) || !(x <= high)) return;
      smallest = fminf(smallest, x);
      largest = fmaxf(largest, x);
    });
    return put_together({smallest, largest});
  }
  __device__ Extremes extremes_of_all() {
    float smallest = kInfinity, largest = -kInfinity;
    for_each_row([&](unsigned, float x, Sum) {
      smallest = fminf(smallest, x);
      largest = fmaxf(largest, x);
    });
    return put_together({smallest, largest});
  }
  // The smallest value above the pivot.
  __device__ float next_above() {
    const float pivot = board.pivot[mine];
    float smallest = kInfinity;
    for_each_row(
        [&](unsigned, float x, Sum) { smallest = x > pivot ? fminf(smallest, x) : smallest; });
    return put_together({smallest, smallest}).smallest;
  }

  // Rows in registers have no number there; the few that are wanted are read again.
  __device__ unsigned gather() {
    const float low = board.low[mine], high = board.high[mine];
    const auto take_down = [&](float x, Sum weight) {
      const unsigned place = atomicAdd(&board.candidate_count[mine], 1u);
      if (place >= kCandidatesMax) return;
      board.candidates[place][mine] = x + 0.0f;
      board.candidate_units[place][mine] = weight;
    };
    if constexpr (kIsHeld) {
      std::uint32_t inside = 0;
      for_each_row(
          [&](unsigned i, float x, Sum) { inside |= x > low && x <= high ? 1u << i : 0u; });
      while (inside != 0) {
        const auto i = static_cast<unsigned>(__ffs(static_cast<int>(inside)) - 1);
        inside &= inside - 1;
        take_down(__ldg(held_rows[i] + column), held_units[i]);
      }
    } else {
      for_each_row([&](unsigned, float x, Sum weight) {
        if (x > low && x <= high) take_down(x, weight);
      });
    }
    __syncthreads();
    return board.candidate_count[mine];
  }

  // The one row that is the first of its value writes it down.
  __device__ Standing<Sum> pick(Sum threshold) {
    const unsigned found = board.candidate_count[mine];
    const unsigned count = found <= kCandidatesMax ? found : 0;  // more are one value
    const auto value = [&](unsigned i) { return board.candidates[i][mine]; };
    const auto weight = [&](unsigned i) { return board.candidate_units[i][mine]; };
    for (unsigned which = group; which < count; which += layout.groups) {
      const Candidate<Sum> seen = compare<Sum>(value, weight, count, which);
      const Sum below = board.below[mine] + seen.below;
      if (seen.is_first && below < threshold && threshold <= below + seen.at) {
        board.picked[mine] = {value(which), below, seen.at};
      }
    }
    __syncthreads();
    return board.picked[mine];
  }

  static __device__ void add(std::uint32_t* to, std::uint32_t sum) { atomicAdd(to, sum); }
  static __device__ void add(std::uint64_t* to, std::uint64_t sum) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(sum));
  }

  __device__ void clear() {
    if (group != 0) return;
    board.sum[mine] = 0;
    board.smallest[mine] = 0xFFFFFFFFu;
    board.largest[mine] = 0;
    board.candidate_count[mine] = 0;
  }

  __device__ Extremes put_together(const Extremes& of_thread) {
    atomicMin(&board.smallest[mine], ordered_key(of_thread.smallest));
    atomicMax(&board.largest[mine], ordered_key(of_thread.largest));
    __syncthreads();
    if (!leads()) return {};
    return {value_of_key(board.smallest[mine]), value_of_key(board.largest[mine])};
  }
};

// Calls work(crew, bracket, column) for the columns of the block, of which the last may not exist.
template <typename Sum, unsigned kColumns, bool kIsHeld, typename Work>
__device__ void for_each_column(const Rows& rows, const Units& units, const Layout& layout,
                                const Work& work) {
  extern __shared__ unsigned char shared[];
  __shared__ Board<Sum, kColumns> board;
  BlockCrew<Sum, kColumns, kIsHeld> crew(board, rows, units, layout, shared);
  for (std::size_t first = static_cast<std::size_t>(blockIdx.x) * kColumns; first < rows.dim;
       first += static_cast<std::size_t>(gridDim.x) * kColumns) {
    const std::size_t j = first + crew.mine;
    crew.open(j);
    const Extremes ends = crew.extremes_of_all();
    work(crew, bracket_all<Sum>(ends.smallest, ends.largest, static_cast<Sum>(units.total)), j,
         reinterpret_cast<double*>(shared + layout.sums_at));
    __syncthreads();  // before the board is used for the next columns
    crew.clear();
    __syncthreads();
  }
}

template <typename Sum, unsigned kColumns, unsigned kThreads, bool kIsHeld>
__global__ void __launch_bounds__(kThreads, kThreads * sizeof(Sum) <= 2048 ? 2 : 1)
    median_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                  const __grid_constant__ Layout layout, const MedianPlaces out) {
  for_each_column<Sum, kColumns, kIsHeld>(
      rows, units, layout, [&](auto& crew, const Bracket<Sum>& all, std::size_t j, double*) {
        const Sum total = static_cast<Sum>(units.total);
        const auto [s, median] = select_median(crew, rows.count, all, total);
        if (!crew.leads() || j >= rows.dim) return;
        if constexpr (sizeof(Sum) == sizeof(std::uint32_t)) {
          remember(out, j, median, to_remember(s, total, s.value, s.value));
        } else {
          out.median[j] = median;
        }
      });
}

template <typename Sum, unsigned kColumns, unsigned kThreads, bool kIsHeld>
__global__ void __launch_bounds__(kThreads, kThreads * sizeof(Sum) <= 2048 ? 2 : 1)
    trimmed_mean_kernel(const __grid_constant__ Rows rows, const __grid_constant__ Units units,
                        const __grid_constant__ Layout layout, const Cuts cuts,
                        const CutThresholds at, float* __restrict__ out) {
  for_each_column<Sum, kColumns, kIsHeld>(
      rows, units, layout, [&](auto& crew, const Bracket<Sum>& all, std::size_t j, double* sums) {
        const Sum total = static_cast<Sum>(units.total);
        const auto low = select(crew, rows.count, all, total, static_cast<Sum>(at.low));
        const auto high = select(crew, rows.count, all, total, static_cast<Sum>(at.high));
        if (crew.leads()) crew.publish({low.value, high.value, 0, 0}, 0.0f);
        __syncthreads();
        const float above = crew.board.low[crew.mine], below = crew.board.high[crew.mine];
        double sum = 0.0;
        crew.for_each_row([&](unsigned, float x, Sum weight) {
          if (!(x > above) || !(x < below)) return;
          sum += static_cast<double>(weight) * static_cast<double>(x);
        });
        sums[threadIdx.x] = sum;
        __syncthreads();
        if (!crew.leads() || j >= rows.dim) return;
        double inside = 0.0;
        for (unsigned g = 0; g < layout.groups; ++g) inside += sums[g * kColumns + crew.mine];
        out[j] = trimmed_mean(inside, cuts, low, high);
      });
}

template <typename Sum, unsigned kColumns, bool kIsHeld>
Layout layout_for(const Rows& rows) {
  constexpr unsigned kGroupsOfWarp = kLanes / kColumns;
  Layout layout{};
  unsigned groups = kThreadsMax / kColumns;
  if constexpr (kIsHeld) groups = (rows.count + kHeld - 1) / kHeld;
  layout.groups = (groups + kGroupsOfWarp - 1) / kGroupsOfWarp * kGroupsOfWarp;
  layout.share = (rows.count + layout.groups - 1) / layout.groups;
  layout.rows_at = kIsHeld ? std::size_t{layout.groups} * kStride * sizeof(Sum) : 0;
  layout.sums_at =
      layout.rows_at + (kIsHeld ? std::size_t{layout.groups} * kStride * sizeof(const float*) : 0);
  layout.bytes = layout.sums_at + std::size_t{layout.groups} * kColumns * sizeof(double);
  return layout;
}

template <typename Kernel, typename... Arguments>
void launch(Kernel* kernel, unsigned columns, const Rows& rows, const Units& units,
            const Layout& layout, cudaStream_t stream, const Arguments&... arguments) {
  const std::size_t blocks = (rows.dim + columns - 1) / columns;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(layout.bytes));
  kernel<<<static_cast<unsigned>(blocks < kBlocksMax ? blocks : kBlocksMax),
           layout.groups * columns, layout.bytes, stream>>>(rows, units, layout, arguments...);
}

// Calls run with the columns of a block, its threads at most, and whether they hold the rows: as
// constants. Fewer columns for more rows, so that two blocks find room for their registers.
template <typename Run>
void with_block(unsigned row_count, const Run& run) {
  const auto shape = [&](auto columns, auto threads, auto is_held) {
    run(columns, threads, is_held);
  };
  using Few = std::integral_constant<unsigned, 512>;
  using Most = std::integral_constant<unsigned, kThreadsMax>;
  if (row_count <= 16 * kHeld) {
    shape(std::integral_constant<unsigned, 32>(), Few(), std::true_type());
  } else if (row_count <= 32 * kHeld) {
    shape(std::integral_constant<unsigned, 16>(), Few(), std::true_type());
  } else if (row_count <= 64 * kHeld) {
    shape(std::integral_constant<unsigned, 8>(), Few(), std::true_type());
  } else if (row_count <= 128 * kHeld) {
    shape(std::integral_constant<unsigned, 8>(), Most(), std::true_type());
  } else {
    shape(std::integral_constant<unsigned, 32>(), Most(), std::false_type());
  }
}

template <typename Sum>
void run_median(const Rows& rows, const Units& units, const MedianPlaces& out,
                cudaStream_t stream) {
  with_block(rows.count, [&](auto columns, auto threads, auto is_held) {
    launch(median_kernel<Sum, columns(), threads(), is_held()>, columns(), rows, units,
           layout_for<Sum, columns(), is_held()>(rows), stream, out);
  });
}

template <typename Sum>
void run_trimmed_mean(const Rows& rows, const Units& units, const Cuts& cuts, float* out,
                      cudaStream_t stream) {
  with_block(rows.count, [&](auto columns, auto threads, auto is_held) {
    launch(trimmed_mean_kernel<Sum, columns(), threads(), is_held()>, columns(), rows, units,
           layout_for<Sum, columns(), is_held()>(rows), stream, cuts,
           cut_thresholds(cuts, units.total), out);
  });
}

}  // namespace

void median_of_many(const Rows& rows, const Units& units, const MedianPlaces& out,
                    cudaStream_t stream) {
  if (units.is_narrow) {
    run_median<std::uint32_t>(rows, units, out, stream);
  } else {
    run_median<std::uint64_t>(rows, units, out, stream);
  }
}

void trimmed_mean_of_many(const Rows& rows, const Units& units, const Cuts& cuts, float* out,
                          cudaStream_t stream) {
  if (units.is_narrow) {
    run_trimmed_mean<std::uint32_t>(rows, units, cuts, out, stream);
  } else {
    run_trimmed_mean<std::uint64_t>(rows, units, cuts, out, stream);
  }
}

}  // namespace ballast::kernels::cuda
