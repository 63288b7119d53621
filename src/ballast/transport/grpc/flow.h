#pragma once
// How gRPC moves large payloads; its defaults are made for small messages.

#include <grpc/impl/codegen/grpc_types.h>
#include <grpcpp/impl/codegen/call_op_set.h>

#include <array>
#include <utility>

#include "ballast/wire/limits.h"

namespace ballast::transport {

// For both ends: frames that hold any chunk, two of them on their way at a time, and each chunk
// handed to the kernel by itself, while it is in the cache.
inline std::array<std::pair<const char*, int>, 3> flow_arguments() {
  constexpr int kMegabyte = 1 << 20;
  return {{{GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMegabyte},
           {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 2 * kMegabyte},
           {GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, int{wire::kChunkBytes}}}};
}

// A message that more will follow at once need not have left before the next one is given to gRPC,
// which holds back at most the write buffer above.
inline grpc::WriteOptions write_options(bool has_followers) {
  grpc::WriteOptions options;
  if (has_followers) options.set_buffer_hint();
  return options;
}

}  // namespace ballast::transport
