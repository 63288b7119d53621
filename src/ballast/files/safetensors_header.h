#pragma once
// Private to files/: the JSON header of a safetensors file,
// {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [3], "data_offsets": [0,
// 12]}}.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/files/safetensors.h"
#include "ballast/files/stored_values.h"

namespace ballast::files {

inline constexpr std::string_view kMetadataKey = "__metadata__";

struct TensorEntry {
  std::string name;
  StoredType type;
  ArrayShape shape;
  std::size_t begin = 0;  // of its bytes, counted from the start of the data
  std::size_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of their bytes
  Metadata metadata;
};

// Reads the header of a file that has `data_bytes` bytes of data. In what it returns every entry
// has exactly the bytes its shape needs, and together they fill the data.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::size_t data_bytes);

// The JSON for tensors whose bytes follow one another in the given order.
Result<std::string> safetensors_json(std::span<const TensorView* const> tensors,
                                     const Metadata& metadata);

}  // namespace ballast::files
