#include "ballast/wire/payload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ballast/wire/bfloat16.h"
#include "ballast/wire/crc32c.h"
#include "ballast/wire/limits.h"

namespace ballast::wire {
namespace {

using Values = std::vector<float>;

constexpr std::size_t kFullChunk = kChunkBytes / sizeof(float);        // as sent
constexpr std::size_t kLargestChunk = kChunkBytesMax / sizeof(float);  // as taken

Values ramp(std::size_t size, float start = 0.0f) {
  Values values(size);
  std::iota(values.begin(), values.end(), start);
  return values;
}

Values send(const Values& values, const Values& statistics, Encoding encoding) {
  Values received(values.size() + statistics.size(), -1.0f);
  const std::span<float> all(received);
  PayloadReader reader(all.first(values.size()), all.subspan(values.size()), encoding);
  PayloadWriter writer(values, statistics, encoding);
  PayloadWriter copying = writer;
  while (!writer.is_done()) {
    EXPECT_FALSE(reader.is_complete());
    const std::size_t size = writer.next_size();
    const Chunk chunk = writer.next();
    EXPECT_EQ(chunk.size(), size);
    EXPECT_TRUE(reader.take(chunk));

    std::vector<std::byte> memory(size);
    const Chunk copy = copying.next(memory.data());
    EXPECT_EQ(copy.bytes.data(), memory.data());
    EXPECT_TRUE(std::ranges::equal(copy.bytes, chunk.bytes));
    EXPECT_EQ(std::pair(copy.offset, copy.checksum), std::pair(chunk.offset, chunk.checksum));
  }
  EXPECT_TRUE(reader.is_complete() && copying.is_done());
  EXPECT_EQ(writer.next_size(), 0u);
  return received;
}

Chunk chunk_of(std::uint64_t offset, const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.offset = offset, .checksum = crc32c(bytes), .bytes = bytes};
}

std::string refusal(PayloadReader& reader, const Chunk& chunk) {
  const Status status = reader.take(chunk);
  return status ? "" : status.error().message;
}

// Sizes around one chunk, and the seam between values and statistics inside a chunk.
TEST(Payload, FloatsArriveAsTheyWereSent) {
  for (const std::size_t size : {std::size_t{1}, kFullChunk - 1, kFullChunk, 2 * kFullChunk + 7}) {
    for (const std::size_t statistics : {0, 1, 500}) {
      SCOPED_TRACE(std::to_string(size) + " + " + std::to_string(statistics));
      Values expected = ramp(size);
      const Values extra = ramp(statistics, -900.0f);
      const Values received = send(expected, extra, Encoding::kFloat32);
      expected.insert(expected.end(), extra.begin(), extra.end());
      EXPECT_EQ(received, expected);
    }
  }
}

TEST(Payload, Bfloat16sArriveRounded) {
  Values expected = ramp(2 * kFullChunk + 3, 0.1f);
  const Values extra = ramp(5, 0.3f);
  const Values received = send(expected, extra, Encoding::kBfloat16);
  expected.insert(expected.end(), extra.begin(), extra.end());
  for (float& value : expected) value = from_bfloat16(to_bfloat16(value));
  EXPECT_EQ(received, expected);
}

TEST(Payload, NothingIsCheckedForBeingFinite) {
  const Values received = send({std::nanf(""), 1.0f}, {}, Encoding::kFloat32);
  EXPECT_TRUE(std::isnan(received[0]));
}

TEST(Payload, ChunksOutOfOrderOrOverlappingAreRefused) {
  Values memory(10, 0.0f);
  PayloadReader reader(memory, {}, Encoding::kFloat32);
  EXPECT_NE(refusal(reader, chunk_of(4, ramp(2))).find("begins at value 4 instead of 0"),
            std::string::npos);
  ASSERT_TRUE(reader.take(chunk_of(0, ramp(4))));
  EXPECT_NE(refusal(reader, chunk_of(2, ramp(4))), "");
  EXPECT_NE(refusal(reader, chunk_of(0, ramp(4))), "");
  EXPECT_NE(refusal(reader, chunk_of(~std::uint64_t{0}, ramp(1))), "");
  EXPECT_EQ(reader.received_count(), 4u);
}

TEST(Payload, ChunksPastTheEndAreRefusedAndTouchNothing) {
  Values memory(6, 7.0f);
  PayloadReader reader(std::span<float>(memory.data(), 4), {}, Encoding::kFloat32);
  EXPECT_NE(refusal(reader, chunk_of(0, ramp(5))).find("ends at value 5"), std::string::npos);
  EXPECT_EQ(memory, Values(6, 7.0f));
}

TEST(Payload, EmptyTornAndTooLargeChunksAreRefused) {
  Values memory(2 * kLargestChunk);
  PayloadReader reader(memory, {}, Encoding::kFloat32);
  EXPECT_NE(refusal(reader, chunk_of(0, {})), "");
  const Values large = ramp(kLargestChunk + 1);
  EXPECT_NE(refusal(reader, chunk_of(0, large)).find("bytes; it must be"), std::string::npos);
  Chunk torn = chunk_of(0, large);
  torn.bytes = torn.bytes.first(7);
  torn.checksum = crc32c(torn.bytes);
  EXPECT_NE(refusal(reader, torn), "");
  EXPECT_EQ(reader.received_count(), 0u);
}

TEST(Payload, AWrongChecksumIsRefusedAndTheRightChunkStillFits) {
  Values memory(6, 7.0f);
  PayloadReader reader(std::span<float>(memory.data(), 5), {}, Encoding::kFloat32);
  ASSERT_TRUE(reader.take(chunk_of(0, {9.0f})));
  const Values values = ramp(4);
  Chunk chunk = chunk_of(1, values);
  chunk.checksum ^= 1u;
  EXPECT_NE(refusal(reader, chunk).find("checksum"), std::string::npos);
  EXPECT_EQ(reader.received_count(), 1u);
  EXPECT_FALSE(reader.is_complete());
  chunk.checksum ^= 1u;
  ASSERT_TRUE(reader.take(chunk));
  EXPECT_EQ(memory, (Values{9.0f, 0.0f, 1.0f, 2.0f, 3.0f, 7.0f}));
}

// As they come from a socket: in pieces that end anywhere.
TEST(Payload, PiecesOfAChunkAreOneChunk) {
  const Values values = ramp(1000);
  for (const Encoding encoding : {Encoding::kFloat32, Encoding::kBfloat16}) {
    PayloadWriter writer(values, {}, encoding);
    Chunk chunk = writer.next();
    const auto bytes = std::exchange(chunk.bytes, {});
    std::vector<std::span<const std::byte>> pieces;
    for (std::size_t i = 0; i < bytes.size(); i += 13) {
      pieces.push_back(bytes.subspan(i, std::min<std::size_t>(13, bytes.size() - i)));
    }
    chunk.rest = pieces;
    EXPECT_EQ(chunk.size(), bytes.size());
    Values received(values.size());
    PayloadReader reader(received, {}, encoding);
    ASSERT_TRUE(reader.take(chunk));
    EXPECT_EQ(received, send(values, {}, encoding));
    chunk.checksum ^= 1u;
    PayloadReader again(received, {}, encoding);
    EXPECT_FALSE(again.take(chunk));
  }
}

}  // namespace
}  // namespace ballast::wire
