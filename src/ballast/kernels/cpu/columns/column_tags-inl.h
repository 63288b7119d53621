// Columns as tags, which is what is sorted of them: the upper bits of a value with a code in place
// of the others that tells the weight of its row. So a compare-exchange is one minimum and one
// maximum, and the weights need not travel along. Tags order the rows by value but for rows that
// differ in the lowest bits alone. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_TAGS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_TAGS_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_TAGS_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_TAGS_INL_H_
#endif

#include "ballast/kernels/cpu/columns/columns-inl.h"
#include "ballast/kernels/cpu/columns/sort_plan.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

using TagLanes = hn::RebindToUnsigned<Narrow::DW>;
using Tags = hn::Vec<TagLanes>;
using TagMask = hn::Mask<TagLanes>;
constexpr std::size_t kLanes = hn::MaxLanes(TagLanes());

// kCopiedColumns columns of tags in order. Those of rank r are ranks[r + 1], between two that no
// finite value has.
struct TaggedColumns {
  static constexpr std::size_t kHalf = std::bit_ceil(kRegisterRowsMax);
  static constexpr std::uint32_t kLowest = 0, kHighest = ~0u;
  alignas(64) std::uint32_t ranks[2 * kHalf + 2][kCopiedColumns];

  // For columns of so many rows. Of more than kHalf, sort_columns() itself fills the places that no
  // row takes.
  explicit TaggedColumns(std::size_t rows) {
    std::fill_n(ranks[0], kCopiedColumns, kLowest);
    std::fill_n(ranks[rows + 1], kCopiedColumns, kHighest);
  }
};

// Tags are unsigned, in the order of the values. With AVX2 the upper bits are those of the
// magnitude, negated below zero, so that the lowest of either sign share them; else they are those
// of the key.
HWY_INLINE Tags tags_of(Values<Narrow> values, Tags code_mask, Tags codes) {
  const TagLanes du;
#if HWY_TARGET == HWY_AVX2
  const auto bits = hn::BitCast(du, values);
  const auto magnitude = hn::AndNot(hn::Or(code_mask, hn::Set(du, SortPlan::kSignBit)), bits);
  return hn::Add(Tags{_mm256_sign_epi32(magnitude.raw, bits.raw)}, codes);
#elif HWY_TARGET <= HWY_AVX3  // three inputs at a time: x ^ (y & z), (x & ~y) ^ z
  const auto bits = hn::BitCast(du, values);
  const auto sign = _mm512_srai_epi32(bits.raw, 31);
  const auto key = _mm512_ternarylogic_epi32(bits.raw, sign, _mm512_set1_epi32(0x7FFFFFFF), 0x78);
  return Tags{_mm512_ternarylogic_epi32(key, code_mask.raw, codes.raw, 0x9A)};
#else
  return hn::Xor(hn::AndNot(code_mask, hn::BitCast(du, key_of<Narrow>(values))), codes);
#endif
}

// Tags as signed numbers, without the codes.
HWY_INLINE Sums<Narrow> numbers_of(Tags tags, Tags code_mask) {
  const auto sign_bit = hn::Set(TagLanes(), SortPlan::kSignBit);
  return hn::BitCast(Narrow::DW(), hn::Xor(hn::AndNot(code_mask, tags), sign_bit));
}

// The bits of a value with these tags, but for the lowest.
HWY_INLINE Tags bits_of(Tags tags, Tags code_mask) {
  const TagLanes du;
  const auto key = numbers_of(tags, code_mask);
#if HWY_TARGET == HWY_AVX2
  const auto sign_bit = hn::Set(du, SortPlan::kSignBit);
  return hn::Or(hn::BitCast(du, hn::Abs(key)), hn::And(hn::BitCast(du, key), sign_bit));
#else
  return hn::BitCast(du, ordered_bits<Narrow>(key));
#endif
}

// What no value with these tags exceeds, and what none falls below. Where there is no row they are
// the infinities.
HWY_INLINE Values<Narrow> value_at_most(Tags tags, Tags code_mask) {
  const auto lowest = key_of<Narrow>(hn::Set(Narrow::D(), -std::numeric_limits<float>::infinity()));
  const auto codes = hn::BitCast(Narrow::DW(), code_mask);
  return value_of<Narrow>(hn::Max(hn::Add(numbers_of(tags, code_mask), codes), lowest));
}
HWY_INLINE Values<Narrow> value_at_least(Tags tags, Tags code_mask) {
  auto least = numbers_of(tags, code_mask);
#if HWY_TARGET == HWY_AVX2  // where the lowest bits of a negative value lead away from zero
  const Narrow::DW dw;
  least = hn::Sub(least, hn::Add(hn::BitCast(dw, code_mask), hn::Set(dw, 1)));
#endif
  const auto highest = key_of<Narrow>(hn::Set(Narrow::D(), std::numeric_limits<float>::infinity()));
  return value_of<Narrow>(hn::Min(least, highest));
}

// Sorts kCopiedColumns columns from columns.offset on, as far as somebody asks who looks at the
// ranks in [first, last], at the one on either side of these, and at all below in any order.
void sort_columns(const Columns<Narrow>& columns, const SortPlan& plan, std::size_t first,
                  std::size_t last, TaggedColumns& sorted);

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
