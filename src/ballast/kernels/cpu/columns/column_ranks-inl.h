// Weighted quantiles of sorted columns (column_tags-inl.h): the tag at which the weight in order
// reaches a target, then the value that it stands for. Where another row differs from that value in
// its lowest bits alone, the tags do not tell which is which; such columns are said to be open, and
// the value is then a good one to search from. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_RANKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_RANKS_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_RANKS_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_RANKS_INL_H_
#endif

#include "ballast/kernels/cpu/columns/column_search-inl.h"
#include "ballast/kernels/cpu/columns/column_tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// The weights of the rows that tags name, where these are the codes.
struct WeightCodes {
  Tags mask;

  HWY_INLINE explicit WeightCodes(const SortPlan& plan)
      : mask(hn::Set(TagLanes(), plan.code_mask)) {}
  HWY_INLINE Tags at(Tags tags) const { return hn::And(tags, mask); }
};

// The same where the codes are row numbers, from tables in registers where these are wide: kTables
// of eight words each, as many as the rows need.
template <std::size_t kTables>
struct WeightTables {
#if HWY_TARGET <= HWY_AVX3  // looks up 32 words by the lowest five bits
  Sums<Narrow> first, second;

  HWY_INLINE explicit WeightTables(const SortPlan& plan)
      : first(hn::Load(Narrow::DW(), plan.weights.data())),
        second(hn::Load(Narrow::DW(), plan.weights.data() + 16)) {}
  HWY_INLINE Tags at(Tags tags) const {
    return Tags{_mm512_permutex2var_epi32(first.raw, tags.raw, second.raw)};
  }
#elif HWY_TARGET <= HWY_AVX2  // looks up eight words by the lowest three bits
  Sums<Narrow> eight[kTables];

  HWY_INLINE explicit WeightTables(const SortPlan& plan) {
    for (std::size_t i = 0; i < kTables; ++i) {
      eight[i] = hn::Load(Narrow::DW(), plan.weights.data() + 8 * i);
    }
  }
  HWY_INLINE Tags at(Tags tags) const {
    const Narrow::DW dw;
    const auto numbers = hn::BitCast(dw, tags);
    const auto from = [&](std::size_t table) HWY_ATTR {
      return Sums<Narrow>{_mm256_permutevar8x32_epi32(eight[table].raw, tags.raw)};
    };
    auto found = from(0);
    if constexpr (kTables > 1) {
      const auto bit_3 = hn::ShiftLeft<28>(numbers);
      found = hn::IfNegativeThenElse(bit_3, from(1), found);
      if constexpr (kTables > 2) {
        auto high = from(2);
        if constexpr (kTables > 3) high = hn::IfNegativeThenElse(bit_3, from(3), high);
        found = hn::IfNegativeThenElse(hn::ShiftLeft<27>(numbers), high, found);
      }
    }
    return hn::BitCast(TagLanes(), found);
  }
#else
  const std::int32_t* weights;

  HWY_INLINE explicit WeightTables(const SortPlan& plan) : weights(plan.weights.data()) {}
  HWY_INLINE Tags at(Tags tags) const {
    const Narrow::DW dw;
    const auto rows = hn::And(hn::BitCast(dw, tags), hn::Set(dw, kNumberedRowsMax - 1));
    return hn::BitCast(TagLanes(), hn::GatherIndex(dw, weights, rows));
  }
#endif
};

// Vectors that are worked on together: rows are looked up once for all of them, and each waits for
// its own results only.
constexpr std::size_t kTogether = 4;

// Where the weight in order reaches a goal: the tags there and on either side, the weight up to and
// with them, and whether a tag on either side differs by its code alone.
struct Ranks {
  Tags before[kTogether];
  Tags tags[kTogether];
  Tags after[kTogether];
  Tags through[kTogether];
  TagMask are_open[kTogether];

  HWY_INLINE bool some_are_open() const {
    auto some = are_open[0];
    for (std::size_t v = 1; v < kTogether; ++v) some = hn::Or(some, are_open[v]);
    return !hn::AllFalse(TagLanes(), some);
  }
};

// As floats: GCC 12 does not see that a mask made by comparing words can choose among bytes.
HWY_INLINE Tags choose(hn::Mask<Narrow::DW> mask, Tags yes, Tags no) {
  const Narrow::D d;
  return hn::BitCast(
      TagLanes(), hn::IfThenElse(hn::RebindMask(d, mask), hn::BitCast(d, yes), hn::BitCast(d, no)));
}

// Finds the ranks of the vectors [kFirst, kEnd) of those that begin at `at` among the sorted ones.
template <std::size_t kFirst, std::size_t kEnd, typename RowWeights>
HWY_INLINE void find_some_ranks(const TaggedColumns& sorted, std::size_t at, const RankGoal& goal,
                                const RowWeights& row_weights, std::uint32_t code_mask,
                                Ranks& found) {
  const TagLanes du;
  const Narrow::DW dw;
  const auto tags_at = [&](std::size_t rank_and_one, std::size_t v) HWY_ATTR {
    return hn::Load(du, sorted.ranks[rank_and_one] + at + v * kLanes);
  };
  Tags sums[kTogether];
  for (std::size_t v = kFirst; v < kEnd; ++v) sums[v] = hn::Zero(du);
  for (std::size_t rank = 0; rank < goal.first_rank; ++rank) {
    for (std::size_t v = kFirst; v < kEnd; ++v) {
      sums[v] = hn::Add(sums[v], row_weights.at(tags_at(rank + 1, v)));
    }
  }
  for (std::size_t v = kFirst; v < kEnd; ++v) {
    found.before[v] = tags_at(goal.first_rank, v);
    found.tags[v] = tags_at(goal.first_rank + 1, v);
    found.after[v] = tags_at(goal.first_rank + 2, v);
    sums[v] = hn::Add(sums[v], row_weights.at(found.tags[v]));
    found.through[v] = sums[v];
  }
  const auto target = hn::Set(dw, goal.weight);
  for (std::size_t rank = goal.first_rank; rank < goal.last_rank; ++rank) {
    for (std::size_t v = kFirst; v < kEnd; ++v) {
      const auto is_short = hn::Lt(hn::BitCast(dw, sums[v]), target);
      const auto next = tags_at(rank + 2, v);
      sums[v] = hn::Add(sums[v], row_weights.at(next));
      found.before[v] = choose(is_short, tags_at(rank + 1, v), found.before[v]);
      found.tags[v] = choose(is_short, next, found.tags[v]);
      found.after[v] = choose(is_short, tags_at(rank + 3, v), found.after[v]);
      found.through[v] = choose(is_short, sums[v], found.through[v]);
    }
  }
  const auto mask = hn::Set(du, code_mask);
  for (std::size_t v = kFirst; v < kEnd; ++v) {
    const auto tags = hn::AndNot(mask, found.tags[v]);
    found.are_open[v] = hn::Or(hn::Eq(tags, hn::AndNot(mask, found.before[v])),
                               hn::Eq(tags, hn::AndNot(mask, found.after[v])));
  }
}

// Finds the ranks of kTogether vectors, with 16 registers two at a time.
template <typename RowWeights>
HWY_INLINE Ranks find_ranks(const TaggedColumns& sorted, std::size_t at, const RankGoal& goal,
                            const RowWeights& row_weights, std::uint32_t code_mask) {
  Ranks found;
#if HWY_TARGET <= HWY_AVX3
  find_some_ranks<0, 4>(sorted, at, goal, row_weights, code_mask, found);
#else
  find_some_ranks<0, 2>(sorted, at, goal, row_weights, code_mask, found);
  find_some_ranks<2, 4>(sorted, at, goal, row_weights, code_mask, found);
#endif
  return found;
}

// The difference if it lies in the lowest bits alone, which tags do not tell, else zero.
HWY_INLINE Tags lowest_bits_alone(Tags difference, Tags mask) {
#if HWY_TARGET == HWY_AVX2  // the lowest of either sign share tags; and signed numbers are compared
  const Narrow::DW dw;
  const auto magnitude = hn::And(difference, hn::Set(TagLanes(), ~SortPlan::kSignBit));
  const auto is_beyond = hn::Gt(hn::BitCast(dw, magnitude), hn::BitCast(dw, mask));
  return hn::BitCast(TagLanes(), hn::IfThenZeroElse(is_beyond, hn::BitCast(dw, difference)));
#else
  return hn::IfThenZeroElse(hn::Lt(mask, difference), difference);
#endif
}

// The values that the tags stand for: of all rows, theirs differ from the tag's upper bits the
// least, and in the lowest bits only. Where no row does so, the column is open too. With kTies a
// column is open no more if all rows with its tag have the same value, as where gradients are zero.
template <bool kTies>
HWY_INLINE void load_values(const Columns<Narrow>& columns, std::size_t at, std::uint32_t code_mask,
                            Ranks& ranks, Values<Narrow>* values) {
  const TagLanes du;
  const auto mask = hn::Set(du, code_mask);
  Tags bits[kTogether], differences[kTogether];
  [[maybe_unused]] Tags largest[kTogether];  // of the differences in the lowest bits
  for (std::size_t v = 0; v < kTogether; ++v) {
    bits[v] = bits_of(ranks.tags[v], mask);
    differences[v] = hn::Set(du, ~0u);
    if constexpr (kTies) largest[v] = hn::Zero(du);
  }
  for (std::size_t i = 0; i < columns.count; ++i) {
    const float* row = columns.rows[i] + columns.offset + at;
    for (std::size_t v = 0; v < kTogether; ++v) {
      auto value = Narrow::load(row + v * kLanes);
      // With AVX2 zeros of either sign share tags, and are one value: -0 + 0 is +0.
      if constexpr (kTies && HWY_TARGET == HWY_AVX2) value = hn::Add(value, hn::Zero(Narrow::D()));
      const auto difference = hn::Xor(hn::BitCast(du, value), bits[v]);
      differences[v] = hn::Min(differences[v], difference);
      if constexpr (kTies) largest[v] = hn::Max(largest[v], lowest_bits_alone(difference, mask));
    }
  }
  for (std::size_t v = 0; v < kTogether; ++v) {
    if constexpr (kTies) {
      ranks.are_open[v] = hn::And(ranks.are_open[v], hn::Ne(differences[v], largest[v]));
    }
    const auto is_lost = hn::Ne(hn::AndNot(mask, differences[v]), hn::Zero(du));
    ranks.are_open[v] = hn::Or(ranks.are_open[v], is_lost);
    values[v] = hn::BitCast(Narrow::D(), hn::Xor(bits[v], differences[v]));
  }
}

// A weighted quantile of each column: a value, and the weight of the rows up to it, of equal rows
// only of so many as reach the goal. Where neighbours are asked for, it is that of all, and there
// is also the weight of the rows at the value, and values between which there is no other row.
struct Quantiles {
  Values<Narrow> values[kTogether];
  Sums<Narrow> through[kTogether];
  Sums<Narrow> at[kTogether];
  Values<Narrow> lower[kTogether], upper[kTogether];
};

// By search from a value near it.
inline HWY_NOINLINE Count<Narrow> quantile_near(Columns<Narrow> columns, std::size_t at,
                                                Values<Narrow> value, std::int64_t total,
                                                std::int64_t target) {
  columns.offset += at;
  return search(columns, count_around(columns, value), total, target).count;
}

// The smallest value up to which the rows weigh the goal or more, in kTogether vectors of columns
// that lie at `at` among the sorted ones.
template <bool kNeighbours = false, typename RowWeights>
HWY_INLINE Quantiles find_quantiles(const Columns<Narrow>& columns, const TaggedColumns& sorted,
                                    std::size_t at, const SortPlan& plan, const RankGoal& goal,
                                    const RowWeights& row_weights) {
  const Narrow::DW dw;
  Ranks ranks = find_ranks(sorted, at, goal, row_weights, plan.code_mask);
  Quantiles found;
  // Where neighbours are asked for, equal rows have to be counted all the same.
  if (!kNeighbours && ranks.some_are_open()) {
    load_values<true>(columns, at, plan.code_mask, ranks, found.values);
  } else {
    load_values<false>(columns, at, plan.code_mask, ranks, found.values);
  }
  for (std::size_t v = 0; v < kTogether; ++v) {
    found.through[v] = hn::BitCast(dw, ranks.through[v]);
    if constexpr (kNeighbours) {
      const auto mask = hn::Set(TagLanes(), plan.code_mask);
      found.at[v] = hn::BitCast(dw, row_weights.at(ranks.tags[v]));
      found.lower[v] = value_at_most(ranks.before[v], mask);
      found.upper[v] = value_at_least(ranks.after[v], mask);
      // Zeros of either sign are one value, with tags of their own.
      const auto is_zero = hn::Eq(found.values[v], hn::Zero(Narrow::D()));
      ranks.are_open[v] = hn::Or(ranks.are_open[v], hn::RebindMask(TagLanes(), is_zero));
    }
    if (hn::AllFalse(TagLanes(), ranks.are_open[v])) continue;
    const auto count =
        quantile_near(columns, at + v * kLanes, found.values[v], plan.total, goal.weight);
    found.values[v] = count.pivot;
    found.through[v] = hn::Sub(broadcast<Narrow>(plan.total), count.above);
    if constexpr (kNeighbours) {
      found.at[v] = hn::Sub(found.through[v], count.below);
      found.lower[v] = count.lower;
      found.upper[v] = count.upper;
    }
  }
  return found;
}

// Calls use(weights) with what looks up the weights of tags.
template <typename Use>
HWY_INLINE void with_row_weights(const SortPlan& plan, [[maybe_unused]] std::size_t rows,
                                 const Use& use) {
  if (plan.has_weights) return use(WeightCodes(plan));
#if HWY_TARGET == HWY_AVX2
  if (rows <= 8) return use(WeightTables<1>(plan));
  if (rows <= 16) return use(WeightTables<2>(plan));
  if (rows <= 24) return use(WeightTables<3>(plan));
#endif
  use(WeightTables<4>(plan));
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
