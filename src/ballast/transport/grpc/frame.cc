#include "ballast/transport/grpc/frame.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/transport/grpc/handoff.h"

namespace ballast::transport {
namespace {

using google::protobuf::io::ArrayOutputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::uint32_t tag(int field, std::uint32_t type) {
  return static_cast<std::uint32_t>(field) << 3u | type;
}
constexpr std::uint32_t kVarint = 0, kLengthDelimited = 2, kFixed32 = 5;

static_assert(int{v1::WorkerMessage::kChunkFieldNumber} ==
              int{v1::ServerMessage::kChunkFieldNumber});
constexpr std::uint32_t kChunkTag = tag(v1::WorkerMessage::kChunkFieldNumber, kLengthDelimited);
constexpr std::uint32_t kOffsetTag = tag(v1::Chunk::kOffsetFieldNumber, kVarint);
constexpr std::uint32_t kChecksumTag = tag(v1::Chunk::kChecksumFieldNumber, kFixed32);
constexpr std::uint32_t kValuesTag = tag(v1::Chunk::kValuesFieldNumber, kLengthDelimited);

// Four tags of one byte, three variable numbers of which two are lengths, and the checksum.
constexpr int kHeadBytesMax = 4 + 10 + 5 + 5 + 4;
using Head = std::array<std::uint8_t, kHeadBytesMax>;

std::size_t write_fields(const wire::Chunk& chunk, Head& head) {
  ArrayOutputStream array(head.data(), int{kHeadBytesMax});
  CodedOutputStream out(&array);
  out.WriteTag(kOffsetTag);
  out.WriteVarint64(chunk.offset);
  out.WriteTag(kChecksumTag);
  out.WriteLittleEndian32(chunk.checksum);
  out.WriteTag(kValuesTag);
  out.WriteVarint32(static_cast<std::uint32_t>(chunk.bytes.size()));
  return static_cast<std::size_t>(out.ByteCount());
}

grpc::Slice head_of(const wire::Chunk& chunk) {
  Head fields;
  const std::size_t field_bytes = write_fields(chunk, fields);
  Head head;
  ArrayOutputStream array(head.data(), int{kHeadBytesMax});
  CodedOutputStream out(&array);
  out.WriteTag(kChunkTag);
  out.WriteVarint32(static_cast<std::uint32_t>(field_bytes + chunk.bytes.size()));
  out.WriteRaw(fields.data(), static_cast<int>(field_bytes));
  return {head.data(), static_cast<std::size_t>(out.ByteCount())};
}

struct Loan {
  std::shared_ptr<const void> owner;
  Handoff to_grpc;
};

// Lets go of the owner when gRPC is done with the bytes.
grpc::Slice borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  auto* const loan = new Loan{.owner = std::move(owner), .to_grpc = {}};
  const auto release = [](void* pointer) {
    auto* const over = static_cast<Loan*>(pointer);
    over->to_grpc.take();
    delete over;
  };
  loan->to_grpc.give();
  // gRPC does not write to what it sends, though the type does not say so.
  return {const_cast<std::byte*>(bytes.data()), bytes.size(), release, loan};
}

// The beginning of a frame that holds a chunk as we write it: everything before the values.
struct ChunkHead {
  std::uint64_t offset = 0;
  std::uint32_t checksum = 0;
  std::size_t bytes = 0;  // of the head itself
};

std::optional<ChunkHead> read_head(std::span<const std::uint8_t> start, std::size_t frame_bytes) {
  CodedInputStream in(start.data(), static_cast<int>(start.size()));
  const auto is_rest = [&](std::uint32_t length) {
    return static_cast<std::size_t>(in.CurrentPosition()) + length == frame_bytes;
  };
  ChunkHead head;
  std::uint32_t length = 0;
  if (in.ReadTag() != kChunkTag || !in.ReadVarint32(&length) || !is_rest(length)) return {};
  std::uint32_t next = in.ReadTag();
  if (next == kOffsetTag) {
    if (!in.ReadVarint64(&head.offset)) return {};
    next = in.ReadTag();
  }
  if (next == kChecksumTag) {
    if (!in.ReadLittleEndian32(&head.checksum)) return {};
    next = in.ReadTag();
  }
  if (next != kValuesTag || !in.ReadVarint32(&length) || !is_rest(length)) return {};
  head.bytes = static_cast<std::size_t>(in.CurrentPosition());
  return head;
}

}  // namespace

grpc::ByteBuffer frame_of(const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

grpc::ByteBuffer frame_of(const wire::Chunk& chunk, std::shared_ptr<const void> owner) {
  BALLAST_CHECK(chunk.rest.empty(), "what is sent lies in one piece");
  const std::array<grpc::Slice, 2> slices = {head_of(chunk), borrow(chunk.bytes, std::move(owner))};
  return {slices.data(), slices.size()};
}

grpc::ByteBuffer frame_of_next(wire::PayloadWriter& chunks) {
  grpc::Slice bytes(chunks.next_size());
  // It is nobody else's yet.
  auto* const memory = reinterpret_cast<std::byte*>(const_cast<std::uint8_t*>(bytes.begin()));
  const std::array<grpc::Slice, 2> slices = {head_of(chunks.next(memory)), std::move(bytes)};
  return {slices.data(), slices.size()};
}

template <typename Message>
Status ReceivedMessage<Message>::open(const grpc::ByteBuffer& frame) {
  message_.Clear();
  has_chunk_ = false;
  slices_.clear();
  if (frame.Dump(&slices_).ok() && open_chunk(frame.Length())) return {};
  grpc::ByteBuffer copy(frame);
  grpc::ProtoBufferReader reader(&copy);
  if (!reader.status().ok() || !message_.ParseFromZeroCopyStream(&reader)) {
    return invalid_argument("what came is no message of the protocol");
  }
  if (message_.has_chunk()) {
    chunk_ = from_message(message_.chunk());
    has_chunk_ = true;
  }
  return {};
}

template <typename Message>
bool ReceivedMessage<Message>::open_chunk(std::size_t frame_bytes) {
  Head start;
  std::size_t start_bytes = 0;
  for (const grpc::Slice& slice : slices_) {
    const std::size_t count = std::min(slice.size(), start.size() - start_bytes);
    std::copy_n(slice.begin(), count, start.begin() + start_bytes);
    start_bytes += count;
  }
  const auto head = read_head(std::span(start).first(start_bytes), frame_bytes);
  if (!head) return false;
  pieces_.clear();
  std::size_t skip = head->bytes;
  for (const grpc::Slice& slice : slices_) {
    const std::size_t skipped = std::min(skip, slice.size());
    skip -= skipped;
    const auto piece = std::as_bytes(std::span(slice.begin(), slice.size())).subspan(skipped);
    if (!piece.empty()) pieces_.push_back(piece);
  }
  chunk_ = {.offset = head->offset, .checksum = head->checksum, .bytes = {}, .rest = pieces_};
  has_chunk_ = true;
  return true;
}

template class ReceivedMessage<v1::WorkerMessage>;
template class ReceivedMessage<v1::ServerMessage>;

}  // namespace ballast::transport
