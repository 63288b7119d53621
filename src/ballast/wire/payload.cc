#include "ballast/wire/payload.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "ballast/base/check.h"
#include "ballast/wire/bfloat16.h"
#include "ballast/wire/crc32c.h"
#include "ballast/wire/limits.h"

namespace ballast::wire {

// Floats travel as they lie in memory.
static_assert(std::endian::native == std::endian::little);

namespace {

// Copies a chunk and returns its checksum. Requires: as many bytes as the chunk has.
std::uint32_t copy_summed(const Chunk& chunk, std::byte* out) {
  std::uint32_t checksum = crc32c_copy(chunk.bytes, out);
  out += chunk.bytes.size();
  for (const auto piece : chunk.rest) {
    checksum = crc32c_copy(piece, out, checksum);
    out += piece.size();
  }
  return checksum;
}

}  // namespace

std::size_t Chunk::size() const noexcept {
  std::size_t sum = bytes.size();
  for (const auto piece : rest) sum += piece.size();
  return sum;
}

PayloadWriter::PayloadWriter(std::span<const float> values, std::span<const float> statistics,
                             Encoding encoding)
    : values_(values), statistics_(statistics), encoding_(encoding) {}

std::size_t PayloadWriter::next_count() const noexcept {
  const std::size_t left = values_.size() + statistics_.size() - written_;
  return std::min(left, kChunkBytes / value_bytes(encoding_));
}

std::size_t PayloadWriter::next_size() const noexcept {
  return next_count() * value_bytes(encoding_);
}

// Where they lie, encoded.
std::span<const std::byte> PayloadWriter::next_bytes() {
  BALLAST_CHECK(!is_done(), "no chunk is left");
  const std::span<const float> piece = gather(next_count());
  if (encoding_ == Encoding::kFloat32) return std::as_bytes(piece);
  halves_.resize(piece.size());
  to_bfloat16(piece, halves_);
  return std::as_bytes(std::span(halves_));
}

Chunk PayloadWriter::chunk_of(std::span<const std::byte> bytes, std::uint32_t checksum) {
  const Chunk chunk{.offset = written_, .checksum = checksum, .bytes = bytes};
  written_ += bytes.size() / value_bytes(encoding_);
  return chunk;
}

Chunk PayloadWriter::next() {
  const std::span<const std::byte> bytes = next_bytes();
  return chunk_of(bytes, crc32c(bytes));
}

Chunk PayloadWriter::next(std::byte* memory) {
  const std::span<const std::byte> bytes = next_bytes();
  return chunk_of({memory, bytes.size()}, crc32c_copy(bytes, memory));
}

std::span<const float> PayloadWriter::gather(std::size_t count) {
  if (written_ >= values_.size()) return statistics_.subspan(written_ - values_.size(), count);
  const std::span<const float> head = values_.subspan(written_);
  if (count <= head.size()) return head.first(count);
  seam_.assign(head.begin(), head.end());
  const auto tail = statistics_.first(count - head.size());
  seam_.insert(seam_.end(), tail.begin(), tail.end());
  return seam_;
}

Status PayloadReader::check(const Chunk& chunk) const {
  if (chunk.offset != received_) {
    return invalid_argument(
        fmt::format("a chunk begins at value {} instead of {}; send them in "
                    "order, without gaps or overlaps",
                    chunk.offset, received_));
  }
  const std::size_t size = chunk.size();
  if (size == 0 || size > kChunkBytesMax || size % value_bytes(encoding_) != 0) {
    return invalid_argument(
        fmt::format("a chunk has {} bytes; it must be 1 to {} whole values of "
                    "{} bytes",
                    size, kChunkBytesMax / value_bytes(encoding_), value_bytes(encoding_)));
  }
  const std::size_t count = size / value_bytes(encoding_);
  const std::size_t total = values_.size() + statistics_.size();
  if (count > total - received_) {
    return invalid_argument(
        fmt::format("a chunk ends at value {}, the payload at {}", received_ + count, total));
  }
  return {};
}

bool PayloadReader::is_at_seam(std::size_t count) const noexcept {
  return received_ < values_.size() && count > values_.size() - received_;
}

// Where the next values are to be written.
std::span<float> PayloadReader::place_of(std::size_t count) {
  if (is_at_seam(count)) {
    seam_.resize(count);
    return seam_;
  }
  return received_ < values_.size() ? values_.subspan(received_, count)
                                    : statistics_.subspan(received_ - values_.size(), count);
}

void PayloadReader::split_seam() {
  const std::span<const float> seam = seam_;
  const std::size_t head = values_.size() - received_;
  std::ranges::copy(seam.first(head), values_.last(head).begin());
  std::ranges::copy(seam.subspan(head), statistics_.begin());
  seam_ = {};
}

Status PayloadReader::take(const Chunk& chunk) {
  BALLAST_TRY_STATUS(check(chunk));
  const std::size_t count = chunk.size() / value_bytes(encoding_);
  const std::span<float> out = place_of(count);
  const bool is_packed = encoding_ != Encoding::kFloat32;
  if (is_packed) halves_.resize(count);
  const auto bytes =
      is_packed ? std::as_writable_bytes(std::span(halves_)) : std::as_writable_bytes(out);
  if (copy_summed(chunk, bytes.data()) != chunk.checksum) {
    return invalid_argument(
        fmt::format("the checksum of the chunk at value {} is wrong", chunk.offset));
  }
  if (is_packed) from_bfloat16(halves_, out);
  if (is_at_seam(count)) split_seam();
  received_ += count;
  return {};
}

}  // namespace ballast::wire
