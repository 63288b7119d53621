#pragma once
// gRPC writes a line to standard error for every peer that fails a handshake, which a peer may do
// as often as it likes, and a library has no business there.

#include <grpc/support/log.h>

#include <cstdlib>

namespace ballast::transport {

// Throws gRPC's own log away, for the whole process, unless the user asked for it by the variable
// that gRPC documents.
inline void silence_grpc() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace ballast::transport
