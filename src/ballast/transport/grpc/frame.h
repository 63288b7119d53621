#pragma once
// Messages of the .proto file as the bytes that gRPC moves.
//
// Ordinary messages go through protobuf. Chunks, which are nearly all of the bytes, do not, because
// it would copy each of them once more on either side: their few leading bytes are written and read
// here, and the values stay where they are. What arrives in another order than ours is still left
// to protobuf, so any implementation of the protocol is understood.

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/transport/grpc/messages.h"
#include "ballast/wire/payload.h"

namespace ballast::transport {

grpc::ByteBuffer frame_of(const google::protobuf::MessageLite& message);

// A chunk of a WorkerMessage or a ServerMessage, in which it has the same number. Its bytes are
// borrowed from their owner for as long as gRPC needs them.
grpc::ByteBuffer frame_of(const wire::Chunk& chunk, std::shared_ptr<const void> owner);

// The writer's next chunk, in memory of the frame itself.
grpc::ByteBuffer frame_of_next(wire::PayloadWriter& chunks);

// A received message, taken apart. Peers may send anything.
template <typename Message>
class ReceivedMessage {
 public:
  // Replaces what was opened before. An error if it is no message of the protocol.
  Status open(const grpc::ByteBuffer& frame);

  // The message; empty if it is a chunk.
  const Message& message() const noexcept { return message_; }

  // Valid until the next message is opened; null if it is none.
  const wire::Chunk* chunk() const noexcept { return has_chunk_ ? &chunk_ : nullptr; }

 private:
  bool open_chunk(std::size_t frame_bytes);

  Message message_;
  bool has_chunk_ = false;
  wire::Chunk chunk_;
  std::vector<grpc::Slice> slices_;
  std::vector<std::span<const std::byte>> pieces_;
};

extern template class ReceivedMessage<v1::WorkerMessage>;
extern template class ReceivedMessage<v1::ServerMessage>;

}  // namespace ballast::transport
