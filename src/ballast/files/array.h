#pragma once
// Arrays as they come from and go to files: a shape and row-major elements of one of ten types, in
// memory that starts on a cache line and can be moved out or viewed without a copy.
//
// Thread-safety: plain values.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ballast/base/aligned.h"
#include "ballast/base/error.h"

namespace ballast::files {

// In the order of the alternatives of AnyElements.
enum class ElementType {
  kFloat32,
  kFloat64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
};

template <template <typename> typename Buffer>
using AnyElements =
    std::variant<Buffer<float>, Buffer<double>, Buffer<std::int8_t>, Buffer<std::int16_t>,
                 Buffer<std::int32_t>, Buffer<std::int64_t>, Buffer<std::uint8_t>,
                 Buffer<std::uint16_t>, Buffer<std::uint32_t>, Buffer<std::uint64_t>>;

template <typename T>
using ConstSpan = std::span<const T>;

using Values = AnyElements<AlignedVector>;
using ValuesView = AnyElements<ConstSpan>;
using ArrayShape = std::vector<std::size_t>;

// As many as NumPy has.
inline constexpr std::size_t kDimensionsMax = 32;

// Invariant: `values` holds element_count(shape) elements.
struct Array {
  ArrayShape shape;
  Values values;

  ElementType type() const noexcept { return static_cast<ElementType>(values.index()); }
};

// Elements that somebody else owns, with a shape of its own.
struct ArrayView {
  // Requires: the elements are as many as the shape says, in at most kDimensionsMax dimensions.
  ArrayView(ArrayShape its_shape, ValuesView its_values);
  ArrayView(const Array& array);  // NOLINT(google-explicit-constructor): as string to string_view

  ElementType type() const noexcept { return static_cast<ElementType>(values.index()); }
  std::span<const std::byte> bytes() const;

  ArrayShape shape;
  ValuesView values;
};

std::size_t element_bytes(ElementType type) noexcept;

// As NumPy spells it: float32, uint8, ...
std::string_view element_name(ElementType type) noexcept;

// The product of the dimensions. Nothing if there are more than kDimensionsMax of them, or if the
// product overflows even with the zeros left out, so that every partial product is safe.
std::optional<std::size_t> element_count(std::span<const std::size_t> shape) noexcept;

// As Python writes a tuple: (), (3,) or (3, 4).
std::string to_string(std::span<const std::size_t> shape);

// The elements in row-major order as doubles, each exactly; an integer beyond 2^53 is refused.
Result<std::vector<double>> to_doubles(const ArrayView& array);

}  // namespace ballast::files
