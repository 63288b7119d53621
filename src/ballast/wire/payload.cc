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

std::uint32_t checksum_of(const Chunk& chunk) {
  std::uint32_t checksum = crc32c(chunk.bytes);
  for (const auto piece : chunk.rest) checksum = crc32c(piece, checksum);
  return checksum;
}

// Requires: as many bytes as the chunk has.
void copy(const Chunk& chunk, std::byte* out) {
  out = std::ranges::copy(chunk.bytes, out).out;
  for (const auto piece : chunk.rest) out = std::ranges::copy(piece, out).out;
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

Chunk PayloadWriter::next() {
  BALLAST_CHECK(!is_done(), "no chunk is left");
  const std::size_t left = values_.size() + statistics_.size() - written_;
  const std::span<const float> piece =
      gather(std::min(left, kChunkBytesMax / value_bytes(encoding_)));
  std::span<const std::byte> bytes = std::as_bytes(piece);
  if (encoding_ == Encoding::kBfloat16) {
    halves_.resize(piece.size());
    to_bfloat16(piece, halves_);
    bytes = std::as_bytes(std::span(halves_));
  }
  const Chunk chunk{.offset = written_, .checksum = crc32c(bytes), .bytes = bytes};
  written_ += piece.size();
  return chunk;
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
  if (count > target_.size() - received_) {
    return invalid_argument(fmt::format("a chunk ends at value {}, the payload at {}",
                                        received_ + count, target_.size()));
  }
  if (checksum_of(chunk) != chunk.checksum) {
    return invalid_argument(
        fmt::format("the checksum of the chunk at value {} is wrong", chunk.offset));
  }
  return {};
}

Status PayloadReader::take(const Chunk& chunk) {
  BALLAST_TRY_STATUS(check(chunk));
  const std::size_t count = chunk.size() / value_bytes(encoding_);
  const std::span<float> out = target_.subspan(received_, count);
  if (encoding_ == Encoding::kFloat32) {
    copy(chunk, std::as_writable_bytes(out).data());
  } else {
    halves_.resize(count);
    copy(chunk, std::as_writable_bytes(std::span(halves_)).data());
    from_bfloat16(halves_, out);
  }
  received_ += count;
  return {};
}

}  // namespace ballast::wire
