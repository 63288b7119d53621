#pragma once
// The safetensors format: a JSON header that names the tensors, then their bytes. Read with every
// claim checked against the true size before anything is allocated: the tensors must fill the data
// exactly, without overlap or hole, and nothing in the header may be unknown or appear twice.
//
// BOOL comes back as uint8, F16 and BF16 as float32; 8-bit floats are refused.
//
// Thread-safety: pure functions but for the files they touch.

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/files/array.h"
#include "ballast/files/file_io.h"

namespace ballast::files {

// Longer headers are refused, as the format's own library does.
inline constexpr std::size_t kSafetensorsHeaderBytesMax = 100'000'000;

using Metadata = std::map<std::string, std::string>;

struct Tensor {
  std::string name;
  Array array;
};

struct TensorView {
  std::string name;
  ArrayView array;
};

struct Tensors {
  std::vector<Tensor> tensors;  // in the order of their bytes in the file
  Metadata metadata;            // the header's __metadata__

  // Null if there is none of that name.
  const Array* find(std::string_view name) const noexcept;
};

// All the tensors of a file, of bytes in memory, or of anything else that can be read.
Result<Tensors> read_safetensors(const std::filesystem::path& path);
Result<Tensors> parse_safetensors(std::span<const std::byte> bytes);
Result<Tensors> load_safetensors(const ByteSource& source);

// Only the named tensor, or with an empty name the only one there is. The error lists the names
// when there is no such tensor.
Result<Array> load_tensor(const ByteSource& source, std::string_view name);

// Whether the source starts as every safetensors file does: a length, then a JSON object.
Result<bool> looks_like_safetensors(const ByteSource& source);

// Writes a file that the format's own library reads; atomically, as write_file_atomically() does.
// Wider elements go first, so that all of them are aligned; otherwise the order is kept.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                         const Metadata& metadata = {});

}  // namespace ballast::files
