#include <cmath>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/column_job.h"
#include "ballast/kernels/cpu/primitives.h"

#ifndef BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
#define BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
namespace ballast::kernels::cpu {

// Where the weight is cut, on a line from 0 to the total.
struct Cuts {
  double low, high;
};

}  // namespace ballast::kernels::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/trimmed_mean.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/column_guess-inl.h"
#include "ballast/kernels/cpu/column_search-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// The values at the two cuts of each column, with the weight up to the low one and below the high
// one.
struct Ends {
  alignas(64) float low[16], high[16];
  alignas(64) double low_through[16], high_below[16];
};

template <typename Width>
HWY_INLINE void store_sums(Sums<Width> sums, double* out) {
  typename Width::Weight lanes[64 / sizeof(typename Width::Weight)];
  hn::StoreU(sums, typename Width::DW(), lanes);
  std::copy_n(lanes, hn::Lanes(typename Width::DW()), out);
}

// The cuts fall into the rows whose cumulative weight first exceeds the low cut and first reaches
// the high cut; as weights are whole numbers, both are whole targets.
template <typename Width>
HWY_INLINE void find_ends(const ColumnJob& job, const Cuts& cuts, const Columns<Width>& columns,
                          Ends& ends) {
  const auto clamped = [&](double target) {
    return std::clamp(static_cast<std::int64_t>(target), std::int64_t{1}, job.total);
  };
  const std::int64_t low_target = clamped(std::floor(cuts.low) + 1.0);
  const std::int64_t high_target = clamped(std::ceil(cuts.high));
  const auto low =
      search(columns, guess_quantile(columns, job.total, low_target), job.total, low_target).count;
  const auto high =
      search(columns, guess_quantile(columns, job.total, high_target), job.total, high_target)
          .count;
  Width::store(low.pivot, ends.low);
  Width::store(high.pivot, ends.high);
  store_sums<Width>(hn::Sub(broadcast<Width>(job.total), low.above), ends.low_through);
  store_sums<Width>(high.below, ends.high_below);
}

// The mean of one column between its ends, in double precision.
template <typename Width>
HWY_INLINE float mean_between(const Columns<Width>& columns, const Cuts& cuts, const Ends& ends,
                              std::size_t lane) {
  const double low = static_cast<double>(ends.low[lane]),
               high = static_cast<double>(ends.high[lane]);
  if (low == high) return static_cast<float>(low);
  double sum =
      low * (ends.low_through[lane] - cuts.low) + high * (cuts.high - ends.high_below[lane]);
  for (std::size_t i = 0; i < columns.count; ++i) {
    const double value = static_cast<double>(columns.rows[i][columns.offset + lane]);
    if (value > low && value < high) sum += value * static_cast<double>(columns.weights[i]);
  }
  return static_cast<float>(sum / (cuts.high - cuts.low));
}

template <typename Width>
void trimmed_mean_range_of(const ColumnJob& job, const Cuts& cuts, std::size_t begin,
                           std::size_t end, const ColumnScratch& scratch, float* HWY_RESTRICT out) {
  for_each_copied_vector<Width>(
      job, begin, end, scratch,
      [&](const Columns<Width>& columns, std::size_t position, std::size_t width) HWY_ATTR {
        Ends ends;
        find_ends(job, cuts, columns, ends);
        for (std::size_t lane = 0; lane < width; ++lane) {
          out[position + lane] = mean_between(columns, cuts, ends, lane);
        }
      });
}

void trimmed_mean_range(const ColumnJob& job, const Cuts& cuts, std::size_t begin, std::size_t end,
                        const ColumnScratch& scratch, float* out) {
  if (job.is_narrow) {
    trimmed_mean_range_of<Narrow>(job, cuts, begin, end, scratch, out);
  } else {
    trimmed_mean_range_of<Wide>(job, cuts, begin, end, scratch, out);
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(trimmed_mean_range);

void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim, std::span<float> out,
                           std::size_t threads) {
  const Blocks blocks(rows.dim());
  const auto kernel = HWY_DYNAMIC_DISPATCH(trimmed_mean_range);
  const double total = static_cast<double>(weights.total());
  const Cuts cuts{trim * total, (1.0 - trim) * total};
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      const ColumnScratch scratch = column_scratch(rows.row_count());
      kernel(job, cuts, blocks.begin(block), blocks.end(block), scratch, out.data());
    });
  });
}

}  // namespace ballast::kernels::cpu
#endif
