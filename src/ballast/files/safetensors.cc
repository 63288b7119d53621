#include "ballast/files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <utility>

#include "ballast/files/error_text.h"
#include "ballast/files/safetensors_header.h"
#include "ballast/files/stored_values.h"

namespace ballast::files {
namespace {

constexpr std::size_t kLengthBytes = 8;

// The format's own library pads the header so that the data starts on such a boundary.
constexpr std::size_t kDataAlignment = 8;

struct Opened {
  SafetensorsHeader header;
  std::size_t data_offset = 0;
};

Result<std::size_t> read_header_length(const ByteSource& source) {
  if (source.size() < kLengthBytes) {
    return invalid_argument("is not a safetensors file: it has fewer than 8 bytes");
  }
  std::array<std::byte, kLengthBytes> bytes;
  BALLAST_TRY_STATUS(source.read(0, bytes));
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  if (length > kSafetensorsHeaderBytesMax) {
    return invalid_argument(
        fmt::format("is not a safetensors file: its header would have {} bytes (at most {})",
                    length, kSafetensorsHeaderBytesMax));
  }
  if (length > source.size() - kLengthBytes) {
    return invalid_argument(
        fmt::format("truncated: the header needs {} bytes but only {} are there; copy it again",
                    length, source.size() - kLengthBytes));
  }
  return length;
}

Result<Opened> open_tensors(const ByteSource& source) {
  BALLAST_TRY(const std::size_t length, read_header_length(source));
  std::string json(length, '\0');
  BALLAST_TRY_STATUS(source.read(kLengthBytes, std::as_writable_bytes(std::span(json))));
  if (!json.starts_with('{')) {
    return invalid_argument("is not a safetensors file: its header is not a JSON object");
  }
  const std::size_t data_offset = kLengthBytes + length;
  BALLAST_TRY(SafetensorsHeader header,
              parse_safetensors_header(json, source.size() - data_offset));
  return Opened{std::move(header), data_offset};
}

Result<Array> load_entry(const ByteSource& source, std::size_t data_offset,
                         const TensorEntry& entry) {
  const std::size_t count = (entry.end - entry.begin) / entry.type.bytes();
  BALLAST_TRY(Values values, load_values(source, {.type = entry.type,
                                                  .offset = data_offset + entry.begin,
                                                  .count = count}));
  return Array{.shape = entry.shape, .values = std::move(values)};
}

std::string list_names(const std::vector<TensorEntry>& entries) {
  constexpr std::size_t kListedMax = 20;
  std::string list;
  for (const TensorEntry& entry : std::span(entries).first(std::min(entries.size(), kListedMax))) {
    list += (list.empty() ? "" : ", ") + in_quotes(entry.name);
  }
  return entries.size() > kListedMax ? list + ", ..." : list;
}

Result<const TensorEntry*> choose(const std::vector<TensorEntry>& entries, std::string_view name) {
  if (entries.empty()) return not_found("has no tensors");
  if (name.empty() && entries.size() == 1) return &entries.front();
  if (name.empty()) {
    return invalid_argument(fmt::format("has {} tensors; add ':' and the name of one of them: {}",
                                        entries.size(), list_names(entries)));
  }
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const TensorEntry& entry) { return entry.name == name; });
  if (found != entries.end()) return &*found;
  return not_found(
      fmt::format("has no tensor {}; it has {}", in_quotes(name), list_names(entries)));
}

Status check_names(std::span<const TensorView> tensors) {
  std::set<std::string_view> names = {kMetadataKey};
  for (const TensorView& tensor : tensors) {
    if (names.insert(tensor.name).second) continue;
    return invalid_argument(fmt::format("the tensor name {} is {}; choose another",
                                        in_quotes(tensor.name),
                                        tensor.name == kMetadataKey ? "reserved" : "given twice"));
  }
  return {};
}

// The length, then the header padded with spaces.
Result<std::string> preamble_of(std::span<const TensorView* const> tensors,
                                const Metadata& metadata) {
  BALLAST_TRY(std::string json, safetensors_json(tensors, metadata));
  const std::size_t excess = json.size() % kDataAlignment;
  json.append(excess == 0 ? 0 : kDataAlignment - excess, ' ');
  if (json.size() > kSafetensorsHeaderBytesMax) {
    return invalid_argument(fmt::format("the names and metadata take {} bytes (at most {})",
                                        json.size(), kSafetensorsHeaderBytesMax));
  }
  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(std::uint64_t{json.size()});
  return std::string(length.data(), length.size()) + json;
}

// Wider elements first: then each tensor starts on a multiple of its element's size.
std::vector<const TensorView*> order_by_width(std::span<const TensorView> tensors) {
  std::vector<const TensorView*> ordered;
  for (const TensorView& tensor : tensors) ordered.push_back(&tensor);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* left, const auto* right) {
    return element_bytes(left->array.type()) > element_bytes(right->array.type());
  });
  return ordered;
}

}  // namespace

const Array* Tensors::find(std::string_view name) const noexcept {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &found->array;
}

Result<Tensors> load_safetensors(const ByteSource& source) {
  BALLAST_TRY(Opened opened, open_tensors(source));
  Tensors result{.tensors = {}, .metadata = std::move(opened.header.metadata)};
  for (TensorEntry& entry : opened.header.entries) {
    BALLAST_TRY(Array array, load_entry(source, opened.data_offset, entry));
    result.tensors.push_back({.name = std::move(entry.name), .array = std::move(array)});
  }
  return result;
}

Result<Tensors> parse_safetensors(std::span<const std::byte> bytes) {
  return load_safetensors(MemorySource(bytes));
}

Result<Tensors> read_safetensors(const std::filesystem::path& path) {
  const auto read = [&]() -> Result<Tensors> {
    BALLAST_TRY(const auto source, open_file(path));
    return load_safetensors(*source);
  };
  return naming(path, read());
}

Result<Array> load_tensor(const ByteSource& source, std::string_view name) {
  BALLAST_TRY(const Opened opened, open_tensors(source));
  BALLAST_TRY(const TensorEntry* entry, choose(opened.header.entries, name));
  return load_entry(source, opened.data_offset, *entry);
}

Result<bool> looks_like_safetensors(const ByteSource& source) {
  std::array<std::byte, 1> first;
  if (source.size() <= kLengthBytes) return false;
  BALLAST_TRY_STATUS(source.read(kLengthBytes, first));
  return first[0] == std::byte{'{'};
}

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                         const Metadata& metadata) {
  BALLAST_TRY_STATUS(naming(path, check_names(tensors)));
  const std::vector<const TensorView*> ordered = order_by_width(tensors);
  BALLAST_TRY(const std::string preamble, naming(path, preamble_of(ordered, metadata)));
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span<const char>(preamble))};
  for (const TensorView* tensor : ordered) pieces.push_back(tensor->array.bytes());
  return write_file_atomically(path, pieces);
}

}  // namespace ballast::files
