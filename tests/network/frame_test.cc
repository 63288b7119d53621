#include "ballast/transport/grpc/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/wire/crc32c.h"

namespace ballast::transport {
namespace {

using Values = std::vector<float>;

Values ramp(std::size_t size) {
  Values values(size);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

wire::Chunk chunk_of(std::uint64_t offset, const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.offset = offset, .checksum = wire::crc32c(bytes), .bytes = bytes};
}

// A frame that outlives what it was made of.
grpc::ByteBuffer copied(const wire::Chunk& chunk) {
  const auto bytes =
      std::make_shared<const std::vector<std::byte>>(chunk.bytes.begin(), chunk.bytes.end());
  return frame_of({.offset = chunk.offset, .checksum = chunk.checksum, .bytes = *bytes}, bytes);
}

std::string text_of(const grpc::ByteBuffer& frame) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(frame.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  return text;
}

// The text in pieces of so many bytes, as it may come from a socket.
grpc::ByteBuffer in_pieces(const std::string& text, std::size_t size) {
  std::vector<grpc::Slice> slices;
  for (std::size_t i = 0; i < text.size(); i += size) slices.emplace_back(text.substr(i, size));
  return {slices.data(), slices.size()};
}

Values values_of(const wire::Chunk& chunk) {
  Values values(chunk.size() / sizeof(float));
  wire::PayloadReader reader(values, {}, wire::Encoding::kFloat32);
  wire::Chunk first = chunk;
  first.offset = 0;
  EXPECT_TRUE(reader.take(first));
  return values;
}

TEST(Frame, AChunkIsWhatProtobufWouldWrite) {
  for (const std::uint64_t offset : {0u, 1u, 1u << 30u}) {
    for (const std::size_t size : {1u, 100u, 262'144u}) {
      const Values values = ramp(size);
      const wire::Chunk chunk = chunk_of(offset, values);
      v1::WorkerMessage parsed;
      ASSERT_TRUE(parsed.ParseFromString(text_of(copied(chunk))));
      EXPECT_EQ(parsed.chunk().offset(), offset);
      EXPECT_EQ(parsed.chunk().checksum(), chunk.checksum);
      EXPECT_EQ(bytes_of(parsed.chunk().values()).size(), chunk.bytes.size());
      EXPECT_TRUE(std::ranges::equal(bytes_of(parsed.chunk().values()), chunk.bytes));
    }
  }
}

TEST(Frame, AWritersChunksAreItsOwnCopies) {
  for (const auto encoding : {wire::Encoding::kFloat32, wire::Encoding::kBfloat16}) {
    Values values = ramp(600'000);
    wire::PayloadWriter copying(values, {}, encoding), plain = copying;
    while (!plain.is_done()) {
      const std::string expected = text_of(copied(plain.next()));
      const grpc::ByteBuffer frame = frame_of_next(copying);
      std::ranges::fill(values, -1.0f);
      EXPECT_EQ(text_of(frame), expected);
      std::iota(values.begin(), values.end(), 1.0f);
    }
    EXPECT_TRUE(copying.is_done());
  }
}

TEST(Frame, WhatProtobufWroteIsOpenedHoweverItWasCut) {
  const Values values = ramp(1000);
  v1::ServerMessage message;
  for (const std::uint64_t offset : {0u, 77u}) {
    to_message(chunk_of(offset, values), *message.mutable_chunk());
    const std::string text = message.SerializeAsString();
    for (const std::size_t size : {1u, 3u, 8u, 1000u, 5000u}) {
      SCOPED_TRACE("pieces of " + std::to_string(size));
      ReceivedMessage<v1::ServerMessage> opened;
      ASSERT_TRUE(opened.open(in_pieces(text, size)));
      ASSERT_NE(opened.chunk(), nullptr);
      EXPECT_EQ(opened.chunk()->offset, offset);
      EXPECT_EQ(values_of(*opened.chunk()), values);
    }
  }
}

// Another implementation may write the fields in any order, or more than once: the last counts.
TEST(Frame, FieldsInAnotherOrderAreUnderstood) {
  const Values values = ramp(10);
  v1::WorkerMessage values_first, rest;
  to_message(chunk_of(0, values), *values_first.mutable_chunk());
  rest.mutable_chunk()->set_offset(5);
  ReceivedMessage<v1::WorkerMessage> opened;
  ASSERT_TRUE(
      opened.open(in_pieces(values_first.SerializeAsString() + rest.SerializeAsString(), 1000)));
  ASSERT_NE(opened.chunk(), nullptr);
  EXPECT_EQ(opened.chunk()->offset, 5u);
  EXPECT_EQ(values_of(*opened.chunk()), values);
}

TEST(Frame, OtherMessagesGoThroughProtobuf) {
  v1::WorkerMessage message;
  message.mutable_join()->set_dim(7);
  ReceivedMessage<v1::WorkerMessage> opened;
  const Values values = ramp(3);
  ASSERT_TRUE(opened.open(copied(chunk_of(0, values))));
  ASSERT_TRUE(opened.open(frame_of(message)));
  EXPECT_EQ(opened.chunk(), nullptr);
  EXPECT_EQ(opened.message().join().dim(), 7u);
}

TEST(Frame, BorrowedBytesLiveAsLongAsTheFrame) {
  auto values = std::make_shared<const Values>(ramp(100));
  const std::weak_ptr<const Values> watch = values;
  {
    const grpc::ByteBuffer frame = frame_of(chunk_of(0, *values), values);
    values.reset();
    EXPECT_FALSE(watch.expired());
    v1::WorkerMessage parsed;
    ASSERT_TRUE(parsed.ParseFromString(text_of(frame)));
    EXPECT_EQ(parsed.chunk().values().size(), 100 * sizeof(float));
  }
  EXPECT_TRUE(watch.expired());
}

// Whatever comes: protobuf and we agree on whether it is a message, and on what it says.
TEST(Frame, DamagedFramesAreReadAsProtobufReadsThem) {
  Rng rng(20);
  const Values values = ramp(20);
  const std::string good = text_of(copied(chunk_of(300, values)));
  int opened_count = 0, refused_count = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good.substr(0, 1 + rng.below(good.size()));
    for (std::uint64_t flips = rng.below(4); flips > 0; --flips) {
      text[rng.below(std::min<std::size_t>(text.size(), 20))] = static_cast<char>(rng.below(256));
    }
    SCOPED_TRACE("round " + std::to_string(round) + " of seed 20");
    v1::WorkerMessage expected;
    const bool is_message = expected.ParseFromString(text);
    ReceivedMessage<v1::WorkerMessage> opened;
    ASSERT_EQ(opened.open(in_pieces(text, 1 + rng.below(30))).has_value(), is_message);
    ++(is_message ? opened_count : refused_count);
    if (!is_message) continue;
    ASSERT_EQ(opened.chunk() != nullptr, expected.has_chunk());
    if (!expected.has_chunk()) continue;
    EXPECT_EQ(opened.chunk()->offset, expected.chunk().offset());
    EXPECT_EQ(opened.chunk()->checksum, expected.chunk().checksum());
    EXPECT_EQ(opened.chunk()->size(), expected.chunk().values().size());
  }
  EXPECT_GT(opened_count, 100);
  EXPECT_GT(refused_count, 100);
}

}  // namespace
}  // namespace ballast::transport
