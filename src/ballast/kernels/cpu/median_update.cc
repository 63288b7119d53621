#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/median_update.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/median_follow-inl.h"
#include "ballast/kernels/cpu/open_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// Columns are followed so many at a time, then those that are open are taken: so the memory is
// asked for many of them at once.
constexpr std::size_t kStretch = 512;
constexpr std::size_t kVectors = kStretch / kLanes;
constexpr std::size_t kMaskBytes = (kLanes + 7) / 8;

// Which columns of a stretch are open, as bits.
class OpenLanes {
 public:
  HWY_INLINE void set(std::size_t vector, LaneMask lanes) {
    hn::StoreMaskBits(Narrow::D(), lanes, bits_ + vector * kMaskBytes);
  }
  HWY_INLINE std::uint64_t bits(std::size_t vector) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bits_ + vector * kMaskBytes, kMaskBytes);
    return bits;
  }
  std::size_t count() const {
    std::size_t count = 0;
    for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
      count += static_cast<std::size_t>(std::popcount(word(at)));
    }
    return count;
  }
  // Calls use(lane) for each.
  template <typename Use>
  HWY_INLINE void for_each(const Use& use) const {
    for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
      for (std::uint64_t bits = word(at); bits != 0; bits &= bits - 1) {
        const auto bit = 8 * at + static_cast<std::size_t>(std::countr_zero(bits));
        use(bit / 8 / kMaskBytes * kLanes + bit % (8 * kMaskBytes));
      }
    }
  }

 private:
  static constexpr std::size_t kBytes = (kVectors * kMaskBytes + 7) / 8 * 8;

  HWY_INLINE std::uint64_t word(std::size_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, bits_ + at, sizeof(word));
    return word;
  }

  std::uint8_t bits_[kBytes + 8] = {};  // some more, since StoreMaskBits may write eight
};

// Follows a row in a stretch of columns, and takes those that are open.
template <bool kIsPacked, bool kIsFar>
HWY_INLINE void update_stretch(const RowFollower<kIsPacked>& follower, const MedianArrays& arrays,
                               std::size_t position, std::size_t vectors, OpenColumns& open) {
  OpenLanes lanes;
  [[maybe_unused]] std::uint32_t intervals[kStretch];
  for (std::size_t v = 0; v < vectors; ++v) {
    const std::size_t at = v * kLanes;
    if constexpr (kIsFar) {
      store_words(load_words(arrays.intervals + position + at), kLanes, intervals + at);
    }
    lanes.set(v, follower.follow(position + at));
  }
#if HWY_TARGET <= HWY_AVX2  // two vectors at a time, of which both are read
  if (!kIsFar && lanes.count() > vectors && vectors % 2 == 0) {
    for (std::size_t v = 0; v < vectors; v += 2) {
      open.copy({lanes.bits(v), lanes.bits(v + 1)}, position + v * kLanes);
    }
    return;
  }
#endif
  lanes.for_each([&](std::size_t lane) HWY_ATTR {
    const std::size_t at = position + lane;
    if (kIsFar && follower.lands(at, intervals[lane])) return;
    open.keep(at);
  });
}

// Returns the number of columns in which the other rows were read.
template <bool kIsPacked, bool kIsFar>
std::size_t update_range_of(const ColumnJob& job, const MedianPlan* plan, const ChangedRow& row,
                            std::size_t begin, std::size_t end, const ColumnScratch& scratch,
                            const MedianArrays& arrays) {
  OpenColumns open(job, plan, begin, scratch, arrays);
  const RowFollower<kIsPacked> follower(row, job.total, arrays);
  std::size_t position = begin;
  while (position + kLanes <= end) {
    const std::size_t vectors = HWY_MIN(kVectors, (end - position) / kLanes);
    update_stretch<kIsPacked, kIsFar>(follower, arrays, position, vectors, open);
    position += vectors * kLanes;
  }
  for (; position < end; ++position) open.keep(position);  // less than a vector
  open.close_all();
  return open.closed();
}

std::size_t update_range(const ColumnJob& job, const MedianPlan* plan, const ChangedRow& row,
                         std::size_t begin, std::size_t end, const ColumnScratch& scratch,
                         const MedianArrays& arrays) {
  const auto update = [&](auto is_packed, auto is_far) {
    return update_range_of<is_packed.value, is_far.value>(job, plan, row, begin, end, scratch,
                                                          arrays);
  };
  const auto with_place = [&](auto is_packed) {
    return is_far(job.rows) ? update(is_packed, std::true_type())
                            : update(is_packed, std::false_type());
  };
  return arrays.is_packed() ? with_place(std::true_type()) : with_place(std::false_type());
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(update_range);

namespace {

// The share of columns of which it takes as long to find their medians anew one by one as to find
// all anew. In memory they are spread over more than half of the lines then. In the caches, where
// time is arithmetic, it is up to two fifths, and less of fewer rows, which are sorted faster
// (measured in training).
double searched_share_max(RowsView rows) {
  if (is_far(rows)) return 0.05;
  return std::min(0.4, static_cast<double>(rows.row_count()) / 40);
}

}  // namespace

double update_median(RowsView rows, const Weights& weights, const host::RowChange& change,
                     std::span<float> median, host::MedianState& state, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(update_range);
  const MedianArrays arrays = median_arrays(median, &state);
  const ChangedRow row{change.old_values.data(), rows.pointer(change.row),
                       static_cast<std::int32_t>(change.old_weight),
                       static_cast<std::int32_t>(weights.units()[change.row])};
  const Blocks blocks(rows.dim());
  std::atomic<std::size_t> searched{0};
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    auto plan = rows.row_count() <= sorted_rows_max() ? median_plan(job) : std::nullopt;
    if (plan) plan->sort.is_far = false;  // copies of columns are sorted
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      const ColumnScratch scratch = column_scratch(rows.row_count());
      searched += kernel(job, plan ? &*plan : nullptr, row, blocks.begin(block), blocks.end(block),
                         scratch, arrays);
    });
  });
  const double share = static_cast<double>(searched) / static_cast<double>(rows.dim());
  return searched_share_max(rows) - share;
}

}  // namespace ballast::kernels::cpu
#endif
