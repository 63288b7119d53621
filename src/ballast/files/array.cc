#include "ballast/files/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::files {
namespace {

struct ElementFacts {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<ElementFacts, std::variant_size_v<Values>> kElements = {{
    {"float32", 4},
    {"float64", 8},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
}};

const ElementFacts& facts(ElementType type) noexcept {
  return kElements[static_cast<std::size_t>(type)];
}

ValuesView view_of(const Values& values) {
  return std::visit([](const auto& elements) { return ValuesView(std::span(elements)); }, values);
}

template <typename T>
bool fits_a_double(T value) noexcept {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    constexpr T kLargest = T{1} << 53;
    if (std::is_signed_v<T> && value < T{} - kLargest) return false;
    return value <= kLargest;
  }
  return true;
}

template <typename T>
Result<std::vector<double>> doubles_from(std::span<const T> values) {
  const auto misfit = std::find_if_not(values.begin(), values.end(), fits_a_double<T>);
  if (misfit != values.end()) {
    return invalid_argument(fmt::format(
        "element {} is {}, which a double cannot hold exactly; keep integers within 2^53",
        misfit - values.begin(), *misfit));
  }
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace

ArrayView::ArrayView(ArrayShape its_shape, ValuesView its_values)
    : shape(std::move(its_shape)), values(its_values) {
  const std::size_t count = bytes().size() / element_bytes(type());
  BALLAST_CHECK(element_count(shape) == count, "the elements are as many as the shape says");
}

ArrayView::ArrayView(const Array& array) : ArrayView(array.shape, view_of(array.values)) {}

std::span<const std::byte> ArrayView::bytes() const {
  return std::visit([](auto elements) -> std::span<const std::byte> { return as_bytes(elements); },
                    values);
}

std::size_t element_bytes(ElementType type) noexcept { return facts(type).bytes; }

std::string_view element_name(ElementType type) noexcept { return facts(type).name; }

std::optional<std::size_t> element_count(std::span<const std::size_t> shape) noexcept {
  if (shape.size() > kDimensionsMax) return std::nullopt;
  std::size_t count = 1;
  bool is_empty = false;
  for (const std::size_t dimension : shape) {
    is_empty = is_empty || dimension == 0;
    const std::size_t factor = std::max<std::size_t>(dimension, 1);
    if (__builtin_mul_overflow(count, factor, &count)) return std::nullopt;
  }
  return is_empty ? 0 : count;
}

std::string to_string(std::span<const std::size_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Result<std::vector<double>> to_doubles(const ArrayView& array) {
  return std::visit([](auto elements) { return doubles_from(elements); }, array.values);
}

}  // namespace ballast::files
