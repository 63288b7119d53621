#include <algorithm>
#include <utility>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/columns/sort_plan.h"
#include "ballast/kernels/cpu/primitives.h"
#include "ballast/kernels/cpu/sorting_network.h"
#include "ballast/kernels/trim_cuts.h"

#ifndef BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
#define BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
namespace ballast::kernels::cpu {

// Up to this many rows, values and weights are sorted in registers, else in memory.
constexpr std::size_t kPairRowsMax = std::min<std::size_t>(24, kSortRowsMax);

// How to sort and where to cut, and memory for one vector of sorted columns of each row.
struct TrimPlan {
  std::span<const CompareExchange> network;
  TrimCuts cuts;
};
struct SortedColumns {
  std::byte* values;
  std::byte* weights;
};

}  // namespace ballast::kernels::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/trimmed_mean.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/columns/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// One vector of columns in memory, sorted or not: values and weights of each row side by side.
template <typename Width>
struct Sortable {
  typename Width::Value* values;
  typename Width::Weight* weights;
  static constexpr std::size_t kLanes = hn::MaxLanes(typename Width::D());

  explicit Sortable(const SortedColumns& memory)
      : values(reinterpret_cast<typename Width::Value*>(memory.values)),
        weights(reinterpret_cast<typename Width::Weight*>(memory.weights)) {}

  HWY_INLINE void load(const Columns<Width>& columns) const {
    for (std::size_t i = 0; i < columns.count; ++i) {
      hn::Store(columns.value(i), typename Width::D(), values + i * kLanes);
      hn::Store(columns.weight(i), typename Width::DW(), weights + i * kLanes);
    }
  }

  // Puts the values of each lane in order, and the weights with them.
  HWY_INLINE void sort(std::span<const CompareExchange> network) const {
    const typename Width::D d;
    const typename Width::DW dw;
    for (const CompareExchange& exchange : network) {
      const std::size_t low = exchange.low * kLanes, high = exchange.high * kLanes;
      const auto a = hn::Load(d, values + low), b = hn::Load(d, values + high);
      const auto s = hn::Load(dw, weights + low), t = hn::Load(dw, weights + high);
      const auto is_swapped = hn::RebindMask(dw, hn::Gt(a, b));
      hn::Store(hn::Min(a, b), d, values + low);
      hn::Store(hn::Max(a, b), d, values + high);
      hn::Store(hn::IfThenElse(is_swapped, t, s), dw, weights + low);
      hn::Store(hn::IfThenElse(is_swapped, s, t), dw, weights + high);
    }
  }
};

HWY_INLINE hn::Vec<Wide::D> as_double(const float* from) { return Wide::load(from); }
HWY_INLINE hn::Vec<Wide::D> as_double(const double* from) { return hn::Load(Wide::D(), from); }
HWY_INLINE hn::Vec<Wide::D> as_double(const std::int32_t* from) {
  return hn::PromoteTo(Wide::D(), hn::LoadU(hn::Rebind<std::int32_t, Wide::D>(), from));
}
HWY_INLINE hn::Vec<Wide::D> as_double(const std::int64_t* from) {
  return hn::ConvertTo(Wide::D(), hn::Load(Wide::DW(), from));
}

template <typename Width>
HWY_INLINE void exchange_pairs(Values<Width>& low, Values<Width>& high, Sums<Width>& low_weight,
                               Sums<Width>& high_weight) {
  const auto is_swapped = hn::RebindMask(typename Width::DW(), hn::Gt(low, high));
  const auto smaller = hn::Min(low, high);
  high = hn::Max(low, high);
  low = smaller;
  const auto weight = hn::IfThenElse(is_swapped, high_weight, low_weight);
  high_weight = hn::IfThenElse(is_swapped, low_weight, high_weight);
  low_weight = weight;
}

// Sorts one vector of columns in registers, by the same network, and leaves it in memory.
template <typename Width, std::size_t kRows, std::size_t... kSteps>
HWY_INLINE void sort_pairs(const Columns<Width>& columns, const Sortable<Width>& sorted,
                           std::index_sequence<kSteps...>) {
  [[maybe_unused]] constexpr auto kNetwork = make_network<kRows>();
  constexpr std::size_t kLanes = hn::MaxLanes(typename Width::D());
  Values<Width> values[kRows];
  Sums<Width> weights[kRows];
  for (std::size_t i = 0; i < kRows; ++i) {
    values[i] = columns.value(i);
    weights[i] = columns.weight(i);
  }
  (exchange_pairs<Width>(values[kNetwork[kSteps].low], values[kNetwork[kSteps].high],
                         weights[kNetwork[kSteps].low], weights[kNetwork[kSteps].high]),
   ...);
  for (std::size_t i = 0; i < kRows; ++i) {
    hn::Store(values[i], typename Width::D(), sorted.values + i * kLanes);
    hn::Store(weights[i], typename Width::DW(), sorted.weights + i * kLanes);
  }
}

using SortPairs = void (*)(const Columns<Narrow>&, const Sortable<Narrow>&);

template <std::size_t kRows>
void sort_narrow_pairs(const Columns<Narrow>& columns, const Sortable<Narrow>& sorted) {
  sort_pairs<Narrow, kRows>(columns, sorted, std::make_index_sequence<exchange_count(kRows)>());
}

template <std::size_t... kIndices>
HWY_INLINE SortPairs choose_pairs(std::size_t rows, std::index_sequence<kIndices...>) {
  static constexpr SortPairs kSorts[] = {sort_narrow_pairs<kIndices + 1>...};
  return kSorts[rows - 1];
}

// The mean of what lies between the cuts when the sorted rows lie end to end, in double precision,
// for the lanes from `lane` on.
template <typename Width>
HWY_INLINE hn::Vec<Wide::D> mean_between(const Sortable<Width>& sorted, std::size_t rows,
                                         const TrimCuts& cuts, std::size_t lane) {
  const Wide::D d;
  const auto low = hn::Set(d, cuts.low), high = hn::Set(d, cuts.high);
  auto end = hn::Zero(d), cut = low, sum = hn::Zero(d), kept = hn::Zero(d);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t at = i * sorted.kLanes + lane;
    end = hn::Add(end, as_double(sorted.weights + at));
    const auto next_cut = hn::Min(hn::Max(end, low), high);
    const auto inside = hn::Sub(next_cut, cut);
    sum = hn::MulAdd(inside, as_double(sorted.values + at), sum);
    kept = hn::Add(kept, inside);
    cut = next_cut;
  }
  return hn::Div(sum, kept);
}

// Calls sort(columns, sorted) for each vector of columns and writes the means.
template <typename Width, typename Sort>
HWY_INLINE void trimmed_mean_range_of(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                                      std::size_t end, const ColumnScratch& scratch,
                                      const SortedColumns& memory, float* HWY_RESTRICT out,
                                      const Sort& sort) {
  const Sortable<Width> sorted(memory);
  for_each_vector<Width>(
      job, begin, end, scratch,
      [&](const Columns<Width>& columns, std::size_t position, std::size_t width) HWY_ATTR {
        sort(columns, sorted);
        float means[64 / sizeof(float)];
        for (std::size_t lane = 0; lane < sorted.kLanes; lane += hn::Lanes(Wide::D())) {
          Wide::store(mean_between(sorted, columns.count, plan.cuts, lane), means + lane);
        }
        std::copy_n(means, width, out + position);
      });
}

void trimmed_mean_range(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                        std::size_t end, const ColumnScratch& scratch, const SortedColumns& memory,
                        float* out) {
  const auto in_memory = [&](const auto& columns, const auto& sorted) HWY_ATTR {
    sorted.load(columns);
    sorted.sort(plan.network);
  };
  if (!job.is_narrow) {
    trimmed_mean_range_of<Wide>(job, plan, begin, end, scratch, memory, out, in_memory);
  } else if (job.rows.row_count() > kPairRowsMax) {
    trimmed_mean_range_of<Narrow>(job, plan, begin, end, scratch, memory, out, in_memory);
  } else {
    const SortPairs in_registers =
        choose_pairs(job.rows.row_count(), std::make_index_sequence<kPairRowsMax>());
    trimmed_mean_range_of<Narrow>(job, plan, begin, end, scratch, memory, out, in_registers);
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(trimmed_mean_range);

namespace {

// The network for so many rows, kept per calling thread.
std::span<const CompareExchange> network_for(std::size_t rows) {
  static thread_local std::vector<CompareExchange> network;
  static thread_local std::size_t network_rows = 0;
  if (network_rows != rows) build_network(network_rows = rows, network);
  return network;
}

SortedColumns sorted_columns(std::size_t rows) {
  static thread_local AlignedVector<std::byte> memory;
  memory.resize(2 * rows * kCacheLineBytes);
  return {memory.data(), memory.data() + rows * kCacheLineBytes};
}

}  // namespace

void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim, std::span<float> out,
                           std::size_t threads) {
  const Blocks blocks(rows.dim());
  const auto kernel = HWY_DYNAMIC_DISPATCH(trimmed_mean_range);
  const TrimPlan plan{network_for(rows.row_count()), trim_cuts(trim, weights.total())};
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      kernel(job, plan, blocks.begin(block), blocks.end(block), column_scratch(rows.row_count()),
             sorted_columns(rows.row_count()), out.data());
    });
  });
}

}  // namespace ballast::kernels::cpu
#endif
