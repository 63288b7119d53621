#include <algorithm>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/column_job.h"
#include "ballast/kernels/cpu/primitives.h"
#include "ballast/kernels/cpu/sorting_network.h"
#include "ballast/kernels/trim_cuts.h"

#ifndef BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
#define BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
namespace ballast::kernels::cpu {

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
#include "ballast/kernels/cpu/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// One vector of columns in memory, sorted or not: values and weights of each row side by side.
template <typename Width>
struct Sortable {
  typename Width::Value* values;
  typename Width::Weight* weights;
  std::size_t lanes = hn::Lanes(typename Width::D());

  explicit Sortable(const SortedColumns& memory)
      : values(reinterpret_cast<typename Width::Value*>(memory.values)),
        weights(reinterpret_cast<typename Width::Weight*>(memory.weights)) {}

  HWY_INLINE void load(const Columns<Width>& columns) const {
    for (std::size_t i = 0; i < columns.count; ++i) {
      hn::Store(columns.value(i), typename Width::D(), values + i * lanes);
      hn::Store(columns.weight(i), typename Width::DW(), weights + i * lanes);
    }
  }

  // Puts the values of each lane in order, and the weights with them.
  HWY_INLINE void sort(std::span<const CompareExchange> network) const {
    const typename Width::D d;
    const typename Width::DW dw;
    for (const CompareExchange& exchange : network) {
      const std::size_t low = exchange.low * lanes, high = exchange.high * lanes;
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

// The mean of what lies between the cuts when the sorted rows lie end to end, in double precision,
// for the lanes from `lane` on.
template <typename Width>
HWY_INLINE hn::Vec<Wide::D> mean_between(const Sortable<Width>& sorted, std::size_t rows,
                                         const TrimCuts& cuts, std::size_t lane) {
  const Wide::D d;
  const auto low = hn::Set(d, cuts.low), high = hn::Set(d, cuts.high);
  auto begin = hn::Zero(d), sum = hn::Zero(d), kept = hn::Zero(d);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t at = i * sorted.lanes + lane;
    const auto end = hn::Add(begin, as_double(sorted.weights + at));
    const auto overlap = hn::Sub(hn::Min(end, high), hn::Max(begin, low));
    const auto inside = hn::Max(overlap, hn::Zero(d));
    sum = hn::MulAdd(inside, as_double(sorted.values + at), sum);
    kept = hn::Add(kept, inside);
    begin = end;
  }
  return hn::Div(sum, kept);
}

template <typename Width>
void trimmed_mean_range_of(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                           std::size_t end, const ColumnScratch& scratch,
                           const SortedColumns& memory, float* HWY_RESTRICT out) {
  const Sortable<Width> sorted(memory);
  for_each_vector<Width>(
      job, begin, end, scratch,
      [&](const Columns<Width>& columns, std::size_t position, std::size_t width) HWY_ATTR {
        sorted.load(columns);
        sorted.sort(plan.network);
        float means[64 / sizeof(float)];
        for (std::size_t lane = 0; lane < sorted.lanes; lane += hn::Lanes(Wide::D())) {
          Wide::store(mean_between(sorted, columns.count, plan.cuts, lane), means + lane);
        }
        std::copy_n(means, width, out + position);
      });
}

void trimmed_mean_range(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                        std::size_t end, const ColumnScratch& scratch, const SortedColumns& memory,
                        float* out) {
  if (job.is_narrow) {
    trimmed_mean_range_of<Narrow>(job, plan, begin, end, scratch, memory, out);
  } else {
    trimmed_mean_range_of<Wide>(job, plan, begin, end, scratch, memory, out);
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
