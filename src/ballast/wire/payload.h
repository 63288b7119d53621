#pragma once
// A payload: the values of a model or of an update, cut into chunks.
//
// Chunks come in order and without gaps, so a receiver needs one number to know what is missing,
// and an overlap, a hole or a repeat is seen at once. Values are little-endian floats or bfloat16s.
//
// Thread-safety: none; one thread at a time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::wire {

enum class Encoding : std::uint8_t {
  kFloat32,   // 4 bytes a value, exact
  kBfloat16,  // 2 bytes a value, 8 bits of precision
};

constexpr std::size_t value_bytes(Encoding encoding) noexcept {
  return encoding == Encoding::kFloat32 ? 4 : 2;
}

// One piece of a payload. Borrowed; from a peer every field may be a lie.
struct Chunk {
  std::uint64_t offset = 0;  // of its first value in the payload, in values
  std::uint32_t checksum = 0;
  std::span<const std::byte> bytes;
  // Where it goes on, if it came in several pieces. A piece may end inside a value.
  std::span<const std::span<const std::byte>> rest = {};

  std::size_t size() const noexcept;  // in bytes
};

// Cuts a payload. The payload is several parts laid end to end (an update and its statistics), and
// outlives the writer.
class PayloadWriter {
 public:
  PayloadWriter() = default;
  PayloadWriter(std::span<const float> values, std::span<const float> statistics,
                Encoding encoding);

  bool is_done() const noexcept { return written_ == values_.size() + statistics_.size(); }

  // Bytes of the next chunk; none if all is done.
  std::size_t next_size() const noexcept;

  // The next chunk; valid until the next call.
  //
  // Requires: !is_done().
  // Cost: one read of the chunk for the checksum; bfloat16 and the seam between two parts also
  // copy.
  Chunk next();

  // The same with its bytes in this memory, of next_size() bytes; valid as long as that is.
  //
  // Cost: as next(): they are copied in the pass that sums them.
  Chunk next(std::byte* memory);

 private:
  std::size_t next_count() const noexcept;
  std::span<const std::byte> next_bytes();
  Chunk chunk_of(std::span<const std::byte> bytes, std::uint32_t checksum);
  std::span<const float> gather(std::size_t count);

  std::span<const float> values_;
  std::span<const float> statistics_;
  Encoding encoding_ = Encoding::kFloat32;
  std::size_t written_ = 0;
  std::vector<float> seam_;
  std::vector<std::uint16_t> halves_;
};

// Puts a payload together in memory that was there before. Hostile input is safe: a chunk that does
// not fit is an error and touches nothing; one whose checksum is wrong is an error too, and what it
// was to be written to then holds anything, until the right one is taken.
class PayloadReader {
 public:
  PayloadReader() = default;
  // The values come first, the statistics behind them.
  PayloadReader(std::span<float> values, std::span<float> statistics, Encoding encoding)
      : values_(values), statistics_(statistics), encoding_(encoding) {}

  // Cost: one pass over the chunk; bfloat16 takes one more, in memory of its own for one chunk.
  Status take(const Chunk& chunk);

  bool is_complete() const noexcept { return received_ == values_.size() + statistics_.size(); }
  std::size_t received_count() const noexcept { return received_; }

 private:
  Status check(const Chunk& chunk) const;
  bool is_at_seam(std::size_t count) const noexcept;
  std::span<float> place_of(std::size_t count);
  void split_seam();

  std::span<float> values_;
  std::span<float> statistics_;
  Encoding encoding_ = Encoding::kFloat32;
  std::size_t received_ = 0;
  std::vector<float> seam_;  // a chunk in which the values end and the statistics begin
  std::vector<std::uint16_t> halves_;
};

}  // namespace ballast::wire
