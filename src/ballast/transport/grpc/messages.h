#pragma once
// Between the messages of the .proto file and the types of wire/.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/wire/payload.h"
#include "proto/ballast/v1/parameter_server.pb.h"

namespace ballast::transport {

namespace v1 = ::ballast::v1;

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline v1::Encoding to_message(wire::Encoding encoding) {
  return encoding == wire::Encoding::kFloat32 ? v1::ENCODING_FLOAT32 : v1::ENCODING_BFLOAT16;
}

// A peer may have sent any number.
inline Result<wire::Encoding> from_message(v1::Encoding encoding) {
  if (encoding == v1::ENCODING_FLOAT32) return wire::Encoding::kFloat32;
  if (encoding == v1::ENCODING_BFLOAT16) return wire::Encoding::kBfloat16;
  return invalid_argument("unknown encoding " + std::to_string(int{encoding}));
}

inline wire::Chunk from_message(const v1::Chunk& chunk) {
  return {
      .offset = chunk.offset(), .checksum = chunk.checksum(), .bytes = bytes_of(chunk.values())};
}

inline void to_message(const wire::Chunk& chunk, v1::Chunk& message) {
  message.set_offset(chunk.offset);
  message.set_checksum(chunk.checksum);
  message.set_values(chunk.bytes.data(), chunk.bytes.size());
}

}  // namespace ballast::transport
