// Columns whose median has to be found anew, gathered and worked on together. Included once per
// instruction set.

#if defined(BALLAST_KERNELS_CPU_OPEN_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_OPEN_COLUMNS_INL_H_
#undef BALLAST_KERNELS_CPU_OPEN_COLUMNS_INL_H_
#else
#define BALLAST_KERNELS_CPU_OPEN_COLUMNS_INL_H_
#endif

#include <array>
#include <bit>
#include <utility>

#include "ballast/kernels/cpu/median_by_sorting-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// How the medians of gathered columns are found: by sorting where that is faster and can be done,
// else by a search from the median that was.
using SortGathered = void (*)(const Columns<Narrow>&, const MedianPlan&, TaggedColumns&,
                              const MedianArrays&);

template <bool kIsEven, typename RowWeights>
void sort_gathered(const Columns<Narrow>& columns, const MedianPlan& plan, TaggedColumns& sorted,
                   const MedianArrays& out) {
  sort_for_medians<kIsEven, true>(columns, plan, RowWeights(plan.sort), sorted, out);
}

inline SortGathered choose_sort_gathered(const MedianPlan& plan, std::size_t rows) {
  SortGathered chosen = nullptr;
  with_row_weights(plan.sort, rows, [&](const auto& weights) {
    using RowWeights = std::remove_cvref_t<decltype(weights)>;
    chosen = plan.is_even() ? sort_gathered<true, RowWeights> : sort_gathered<false, RowWeights>;
  });
  return chosen;
}

// Some lanes of two neighbouring vectors, as bits.
struct LanePair {
  std::uint64_t first, second;

  HWY_INLINE std::size_t first_count() const {
    return static_cast<std::size_t>(std::popcount(first));
  }
  HWY_INLINE std::size_t count() const {
    return first_count() + static_cast<std::size_t>(std::popcount(second));
  }
};

#if HWY_TARGET <= HWY_AVX3
// The numbers of the lanes that both name, in order; those of the second begin at kLanes.
HWY_INLINE Sums<Narrow> lane_numbers(const LanePair& lanes) {
  const auto numbers = hn::Iota(Narrow::DW(), 0);
  const auto next = hn::Add(numbers, hn::Set(Narrow::DW(), static_cast<std::int32_t>(kLanes)));
  alignas(64) std::int32_t found[2 * kLanes] = {};
  const auto closed_up = [](std::uint64_t bits, Sums<Narrow> from) HWY_ATTR {
    return Sums<Narrow>{_mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), from.raw)};
  };
  hn::Store(closed_up(lanes.first, numbers), Narrow::DW(), found);
  hn::StoreU(closed_up(lanes.second, next), Narrow::DW(), found + lanes.first_count());
  return hn::Load(Narrow::DW(), found);
}

// Closes up some lanes of two vectors into one. Requires: at most kLanes of them.
class ClosedUp {
 public:
  HWY_INLINE explicit ClosedUp(const LanePair& lanes) : numbers_(lane_numbers(lanes)) {}

  HWY_INLINE Values<Narrow> values(const float* from) const {
    const auto first = Narrow::load(from), second = Narrow::load(from + kLanes);
    return Values<Narrow>{_mm512_permutex2var_ps(first.raw, numbers_.raw, second.raw)};
  }
  // Where they are, if the first of the two vectors is here.
  HWY_INLINE Sums<Narrow> places(std::size_t place) const {
    return hn::Add(numbers_, hn::Set(Narrow::DW(), static_cast<std::int32_t>(place)));
  }

 private:
  Sums<Narrow> numbers_;
};
#elif HWY_TARGET == HWY_AVX2
// The numbers of the lanes that bits name, in order, moved up by some lanes.
HWY_INLINE Sums<Narrow> lane_numbers(std::uint64_t bits, std::size_t moved) {
  static constexpr std::array<std::uint64_t, 256> kNumbers = [] {
    std::array<std::uint64_t, 256> numbers{};
    for (std::uint64_t byte = 0; byte < numbers.size(); ++byte) {
      int at = 0;
      for (std::uint64_t lane = 0; lane < 8; ++lane) {
        if ((byte >> lane & 1) != 0) numbers[byte] |= lane << (8 * at++);
      }
    }
    return numbers;
  }();
  const auto bytes = static_cast<std::int64_t>(kNumbers[bits] << (8 * moved));
  return Sums<Narrow>{_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes))};
}

// Closes up some lanes of two vectors into one. Requires: at most kLanes of them.
class ClosedUp {
 public:
  HWY_INLINE explicit ClosedUp(const LanePair& lanes)
      : first_(lane_numbers(lanes.first, 0)),
        second_(lane_numbers(lanes.second, lanes.first_count() % kLanes)),
        are_first_(hn::FirstN(Narrow::D(), lanes.first_count())) {}

  HWY_INLINE Values<Narrow> values(const float* from) const {
    const Narrow::D d;
    const auto pick = [&](const float* vector, Sums<Narrow> numbers) HWY_ATTR {
      return hn::TableLookupLanes(Narrow::load(vector), hn::IndicesFromVec(d, numbers));
    };
    return hn::IfThenElse(are_first_, pick(from, first_), pick(from + kLanes, second_));
  }
  // Where they are, if the first of the two vectors is here.
  HWY_INLINE Sums<Narrow> places(std::size_t place) const {
    const Narrow::DW dw;
    const auto begin = hn::Set(dw, static_cast<std::int32_t>(place));
    const auto next = hn::Add(second_, hn::Set(dw, static_cast<std::int32_t>(kLanes)));
    return hn::Add(begin, hn::IfThenElse(hn::RebindMask(dw, are_first_), first_, next));
  }

 private:
  Sums<Narrow> first_, second_;
  hn::Mask<Narrow::D> are_first_;
};
#endif

// Open columns wait here until there are enough to be worked on together. They lie apart. Where
// they are few their places are kept, and they are gathered row by row, so that the memory works on
// many at once; where they are many, whole vectors are read and closed up.
class OpenColumns {
 public:
  // For columns from `origin` on.
  OpenColumns(const ColumnJob& job, const MedianPlan* plan, std::size_t origin,
              const ColumnScratch& scratch, const MedianArrays& arrays)
      : job_(job),
        plan_(plan),
        origin_(origin),
        scratch_(scratch),
        arrays_(arrays.from(origin)),
        sorted_(plan == nullptr ? 0 : job.rows.row_count()) {
    for (std::size_t i = 0; i < job.rows.row_count(); ++i) {
      scratch.copied_rows[i] = scratch.copies + i * kPitch;
    }
    if (plan != nullptr) sort_ = choose_sort_gathered(*plan, job.rows.row_count());
  }

  HWY_INLINE void keep(std::size_t position) {
    places_[count_++] = static_cast<std::uint32_t>(position - origin_);
    if (count_ == kCopiedColumns) close(count_);
  }

#if HWY_TARGET <= HWY_AVX2
  // Takes the columns in these lanes of the two vectors at `position`.
  HWY_INLINE void copy(const LanePair& lanes, std::size_t position) {
    if (lanes.count() > kLanes) {
      copy_few({lanes.first, 0}, position);
      copy_few({0, lanes.second}, position);
    } else if (lanes.count() > 0) {
      copy_few(lanes, position);
    }
  }
#endif

  void close_all() {
    if (count_ > 0) close(count_);
  }
  std::size_t closed() const { return closed_; }

 private:
  static constexpr std::size_t kPitch = kCopiedColumns + kColumnsBeyond;

#if HWY_TARGET <= HWY_AVX2
  // At most kLanes.
  HWY_INLINE void copy_few(const LanePair& lanes, std::size_t position) {
    gather();
    const ClosedUp closed(lanes);
    const float* const* HWY_RESTRICT rows = job_.rows.pointers().data();
    float* HWY_RESTRICT to = scratch_.copies + count_;
    for (std::size_t i = 0; i < job_.rows.row_count(); ++i) {
      Narrow::store(closed.values(rows[i] + position), to + i * kPitch);
    }
    auto* places = reinterpret_cast<std::int32_t*>(places_ + count_);
    hn::StoreU(closed.places(position - origin_), Narrow::DW(), places);
    count_ += lanes.count();
    copied_ = count_;
    if (count_ >= kCopiedColumns) close(kCopiedColumns);
  }
#endif

  HWY_INLINE void gather() {
    if (copied_ == count_) return;
    for (std::size_t i = 0; i < job_.rows.row_count(); ++i) {
      const float* row = job_.rows.pointers()[i] + origin_;
      float* to = scratch_.copies + i * kPitch;
      for (std::size_t k = copied_; k < count_; ++k) to[k] = row[places_[k]];
    }
    copied_ = count_;
  }

  // Finds the medians of the first `width` and moves the others up.
  HWY_NOINLINE void close(std::size_t width) {
    gather();
    const std::size_t rows = job_.rows.row_count();
    const Columns<Narrow> columns{scratch_.copied_rows, Narrow::weights(job_), rows, 0};
    const MedianArrays found = found_.arrays_like(arrays_);
    if (plan_ != nullptr) {
      sort_(columns, *plan_, sorted_, found);
    } else {
      search(columns, width, found);
    }
    for (std::size_t k = 0; k < width; ++k) copy_median(found.from(k), arrays_.from(places_[k]));
    closed_ += width;
    count_ -= width;
    copied_ = count_;
    if (count_ == 0) return;
    for (std::size_t i = 0; i < rows; ++i) {
      float* row = scratch_.copies + i * kPitch;
      std::copy_n(row + width, kColumnsBeyond, row);
    }
    std::copy_n(places_ + width, count_, places_);
  }

  HWY_INLINE void search(Columns<Narrow> columns, std::size_t width, const MedianArrays& found) {
    for (std::size_t k = 0; k < width; ++k) found_.median[k] = arrays_.median[places_[k]];
    for (; columns.offset < width; columns.offset += kLanes) {
      refine_vector(job_, columns, HWY_MIN(kLanes, width - columns.offset),
                    found.from(columns.offset));
    }
  }

  const ColumnJob& job_;
  const MedianPlan* plan_;
  const std::size_t origin_;
  const ColumnScratch& scratch_;
  const MedianArrays arrays_;
  SortGathered sort_ = nullptr;
  TaggedColumns sorted_;
  SomeMedians found_;
  std::uint32_t places_[kPitch];        // behind the origin
  std::size_t count_ = 0, copied_ = 0;  // of those that wait; of them, whose values are here
  std::size_t closed_ = 0;
};

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
