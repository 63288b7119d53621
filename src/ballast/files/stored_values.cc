#include "ballast/files/stored_values.h"

#include <algorithm>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::files {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they stand");

Values no_values(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return AlignedVector<float>();
    case ElementType::kFloat64:
      return AlignedVector<double>();
    case ElementType::kInt8:
      return AlignedVector<std::int8_t>();
    case ElementType::kInt16:
      return AlignedVector<std::int16_t>();
    case ElementType::kInt32:
      return AlignedVector<std::int32_t>();
    case ElementType::kInt64:
      return AlignedVector<std::int64_t>();
    case ElementType::kUint8:
      return AlignedVector<std::uint8_t>();
    case ElementType::kUint16:
      return AlignedVector<std::uint16_t>();
    case ElementType::kUint32:
      return AlignedVector<std::uint32_t>();
    case ElementType::kUint64:
      break;
  }
  return AlignedVector<std::uint64_t>();
}

template <typename T>
Status load_plain(const ByteSource& source, const StoredValues& stored, AlignedVector<T>& values) {
  BALLAST_TRY_STATUS(try_resize(values, stored.count));
  const auto bytes = std::as_writable_bytes(std::span(values));
  BALLAST_TRY_STATUS(source.read(stored.offset, bytes));
  if (stored.byte_order == std::endian::native) return {};
  for (std::size_t start = 0; start < bytes.size(); start += sizeof(T)) {
    const auto element = bytes.subspan(start, sizeof(T));
    std::reverse(element.begin(), element.end());
  }
  return {};
}

}  // namespace

const StoredType* find_type(std::span<const StoredType> types, std::string_view name) noexcept {
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const StoredType& type) { return type.name == name; });
  return found == types.end() ? nullptr : &*found;
}

std::string_view stored_name(std::span<const StoredType> types, ElementType type) noexcept {
  const auto found = std::find_if(types.begin(), types.end(), [&](const StoredType& stored) {
    return stored.type == type && stored.encoding == StoredType::Encoding::kPlain;
  });
  BALLAST_CHECK(found != types.end(), "every format has every type");
  return found->name;
}

Result<Values> load_values(const ByteSource& source, const StoredValues& stored) {
  Values values = no_values(stored.type.type);
  if (stored.type.encoding == StoredType::Encoding::kPlain) {
    BALLAST_TRY_STATUS(
        std::visit([&](auto& elements) { return load_plain(source, stored, elements); }, values));
    return values;
  }
  AlignedVector<std::uint16_t> narrow;
  BALLAST_TRY_STATUS(load_plain(source, stored, narrow));
  auto& wide = std::get<AlignedVector<float>>(values);
  BALLAST_TRY_STATUS(try_resize(wide, narrow.size()));
  const bool is_float16 = stored.type.encoding == StoredType::Encoding::kFloat16;
  std::transform(narrow.begin(), narrow.end(), wide.begin(),
                 is_float16 ? widen_float16 : widen_bfloat16);
  return values;
}

float widen_float16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
  const std::uint32_t fraction = bits & 0x3FFu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide_exponent = exponent == 0x1Fu ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

float widen_bfloat16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace ballast::files
