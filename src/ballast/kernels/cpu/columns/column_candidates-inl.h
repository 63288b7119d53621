// The end of a search that cuts have narrowed down: the few rows between the two nearest cuts are
// gathered, column by column, and the answer is found among them alone. Included once per
// instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_CANDIDATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_CANDIDATES_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_CANDIDATES_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_CANDIDATES_INL_H_
#endif

#include <bit>
#include <cstring>

#include "ballast/kernels/cpu/columns/column_search-inl.h"
#include "ballast/kernels/cpu/columns/column_tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

constexpr std::size_t kGroupColumns = kGuessed * kLanes;  // guessed together
constexpr std::size_t kCandidates = 16;                   // of a column, at most

// The rows of each column between its cuts: their values, infinite behind the last, and weights.
// One place more takes what a column has too many.
struct Candidates {
  alignas(64) float values[kCandidates + 1][kGroupColumns];
  alignas(64) std::int32_t weights[kCandidates + 1][kGroupColumns];
  std::uint32_t counts[kGroupColumns] = {};

  void add(std::size_t column, float value, std::int32_t weight) {
    const std::size_t place = std::min<std::size_t>(counts[column]++, kCandidates);
    values[place][column] = value;
    weights[place][column] = weight;
  }

  std::uint32_t most(std::size_t first, std::size_t last) const {
    return *std::max_element(counts + first, counts + last);
  }
};

// One bit for each column of a group says whether the row lies between the cuts there.
using RowBits = std::uint32_t;
constexpr std::uint32_t kBitsOfRow = 32;
constexpr std::size_t kBitsOfVector = kBitsOfRow / kGuessed;
static_assert(kBitsOfVector >= kLanes);

constexpr std::size_t column_of_bit(std::size_t bit) {
  return bit / kBitsOfVector * kLanes + bit % kBitsOfVector;
}

// Rows whose bits are found before any of them is looked at, two at a time.
constexpr std::size_t kRowsOfBits = 64;

HWY_INLINE void find_rows_between(const Columns<Narrow>& columns, std::size_t first,
                                  std::size_t last, const CutBracket<Narrow>* brackets,
                                  std::uint8_t* bits) {
  const Narrow::D d;
  for (std::size_t i = first; i < last; ++i) {
    const float* row = columns.rows[i] + columns.offset;
    for (std::size_t v = 0; v < kGuessed; ++v) {
      const auto value = Narrow::load(row + v * kLanes);
      const auto is_between =
          hn::And(hn::Gt(value, brackets[v].low.pivot), hn::Le(value, brackets[v].high.pivot));
      hn::StoreMaskBits(d, is_between, bits + v * (kBitsOfVector / 8));
    }
    bits += sizeof(RowBits);
  }
}

// How many candidates of a group are gathered: beyond, other ways take less time.
constexpr std::size_t kPlacesMax = 12 * kGroupColumns;
constexpr std::size_t kPlacesAtOnce = 4;

// Where candidates lie: the number of the row times kBitsOfRow, and the bit of the column.
struct Places {
  std::size_t count = 0;
  std::uint32_t at[kPlacesMax + 2 * kBitsOfRow + kPlacesAtOnce];

  // Takes the bits of two rows. How many there are is not known, but seldom more than a few.
  HWY_INLINE void add(std::uint64_t bits, std::uint32_t row) {
    const auto found = static_cast<std::size_t>(std::popcount(bits));
    for (std::size_t done = 0;;) {
      for (std::size_t k = 0; k < kPlacesAtOnce; ++k) {
        at[count + done + k] =
            row * kBitsOfRow + (static_cast<std::uint32_t>(std::countr_zero(bits)) & 63);
        bits &= bits - 1;
      }
      done += kPlacesAtOnce;
      if (done >= found) break;
    }
    count += found;
  }
};

// Gathers the rows above the lower and up to the upper cut of each column, unless there are many.
HWY_INLINE bool gather_candidates(const Columns<Narrow>& columns,
                                  const CutBracket<Narrow>* brackets, Candidates& candidates) {
  Places places;
  for (std::size_t i = 0; i < columns.count; i += kRowsOfBits) {
    const std::size_t rows = HWY_MIN(kRowsOfBits, columns.count - i);
    alignas(8) std::uint8_t bits[(kRowsOfBits + 1) * sizeof(RowBits)];
    find_rows_between(columns, i, i + rows, brackets, bits);
    std::memset(bits + rows * sizeof(RowBits), 0, sizeof(RowBits));
    for (std::size_t k = 0; k < rows; k += 2) {
      std::uint64_t both;
      std::memcpy(&both, bits + k * sizeof(RowBits), sizeof(both));
      places.add(both, static_cast<std::uint32_t>(i + k));
      if (places.count > kPlacesMax) return false;
    }
  }
  for (std::size_t k = 0; k < places.count; ++k) {
    const std::size_t row = places.at[k] / kBitsOfRow;
    const std::size_t column = column_of_bit(places.at[k] % kBitsOfRow);
    candidates.add(column, columns.rows[row][columns.offset + column], columns.weights[row]);
  }
  return true;
}

// The answer among the candidates of vector v, the most that a column has being `most`.
HWY_INLINE Found<Narrow> found_among(const Candidates& candidates, std::size_t v, std::size_t most,
                                     const CutBracket<Narrow>& bracket, std::int64_t total,
                                     std::int64_t target) {
  const Narrow::D d;
  const Narrow::DW dw;
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto goal = broadcast<Narrow>(target);
  Values<Narrow> values[kCandidates];
  Sums<Narrow> weights[kCandidates];
  const auto counts =
      hn::Load(dw, reinterpret_cast<const std::int32_t*>(candidates.counts) + v * kLanes);
  for (std::size_t i = 0; i < most; ++i) {
    const auto is_there = hn::Gt(counts, hn::Set(dw, static_cast<std::int32_t>(i)));
    values[i] = hn::IfThenElse(hn::RebindMask(d, is_there),
                               hn::Load(d, candidates.values[i] + v * kLanes), infinity);
    weights[i] = hn::IfThenElseZero(is_there, hn::Load(dw, candidates.weights[i] + v * kLanes));
  }
  auto pivot = infinity;
  auto through = broadcast<Narrow>(total);
  for (std::size_t i = 0; i < most; ++i) {
    auto sum = bracket.low.through;
    for (std::size_t k = 0; k < most; ++k) {
      sum = add_where<Narrow>(hn::Le(values[k], values[i]), sum, weights[k]);
    }
    const auto is_short = hn::Lt(sum, goal);
    pivot = hn::IfThenElse(hn::RebindMask(d, is_short), pivot, hn::Min(pivot, values[i]));
    through = hn::IfThenElse(is_short, through, hn::Min(through, sum));
  }
  auto upper = infinity;
  for (std::size_t i = 0; i < most; ++i) {
    upper = hn::IfThenElse(hn::Gt(values[i], pivot), hn::Min(upper, values[i]), upper);
  }
  const auto is_tie = hn::Eq(hn::Add(through, through), broadcast<Narrow>(total));
  const auto is_last = hn::RebindMask(dw, hn::Eq(upper, infinity));
  const bool has_neighbours = hn::AllFalse(dw, hn::And(is_tie, is_last));
  const auto above = hn::Sub(broadcast<Narrow>(total), through);
  return {{pivot, pivot, upper, through, above}, has_neighbours};
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
