#pragma once
// Private to files/: elements as they stand in a file, and their way into memory.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ballast/files/array.h"
#include "ballast/files/file_io.h"

namespace ballast::files {

// One of the formats' own names for an element type, and what becomes of it in memory: 16-bit
// floats are widened to float32 (exactly), booleans become uint8, all others stay what they are.
struct StoredType {
  enum class Encoding { kPlain, kFloat16, kBfloat16 };

  std::string_view name;
  ElementType type;
  Encoding encoding = Encoding::kPlain;

  std::size_t bytes() const noexcept {
    return encoding == Encoding::kPlain ? element_bytes(type) : 2;
  }
};

// The entry of that name, or null.
const StoredType* find_type(std::span<const StoredType> types, std::string_view name) noexcept;

// The format's name for a type in memory.
// Requires: it has one.
std::string_view stored_name(std::span<const StoredType> types, ElementType type) noexcept;

// Where `count` elements of a type stand in a source.
struct StoredValues {
  StoredType type;
  std::size_t offset = 0;
  std::size_t count = 0;
  std::endian byte_order = std::endian::little;
};

// Requires: the elements lie inside the source.
// Cost: one read; memory for the result, and half as much again while 16-bit floats are widened.
Result<Values> load_values(const ByteSource& source, const StoredValues& stored);

// The float with the same value as the IEEE binary16, or as the bfloat16, with these bits.
float widen_float16(std::uint16_t bits) noexcept;
float widen_bfloat16(std::uint16_t bits) noexcept;

}  // namespace ballast::files
