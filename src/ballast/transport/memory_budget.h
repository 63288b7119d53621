#pragma once
// How much memory a server may come to use: stated before it starts, and kept whatever peers do.

#include <cstddef>
#include <cstdint>

#include "ballast/server/parameter_server.h"
#include "ballast/transport/server.h"

namespace ballast::transport {

// In bytes.
struct MemoryBudget {
  std::uint64_t process = 0;    // what the process has already
  std::uint64_t libraries = 0;  // gRPC's code and threads, and what the allocator leaves unused
  std::uint64_t slots = 0;      // one per worker, in which an update is received
  std::uint64_t table =
      0;  // one row per worker, what the rule keeps of them, and the rest of the method
  std::uint64_t models = 0;       // the optimizer's, and two snapshots for each worker
  std::uint64_t messages = 0;     // that the workers' streams are working on
  std::uint64_t connections = 0;  // their bookkeeping, with TLS
  std::uint64_t buffers = 0;      // what gRPC may hold for all of them: its quota

  std::uint64_t total() const noexcept {
    return process + libraries + slots + table + models + messages + connections + buffers;
  }
};

// For a server on the network whose model has `dim` values and whose method keeps so many vectors
// beside its rows (server::Method::further_vectors). What the process uses besides, for
// example for an evaluation, comes on top.
//
// Call it before the server's parts are made; what exists then already is counted twice.
MemoryBudget memory_budget(const NetworkLimits& limits, const server::ServerOptions& options,
                           std::size_t dim, std::size_t further_vectors = 0);

// The memory this process has resident; 0 where the system does not tell.
std::uint64_t resident_bytes();

// The most memory this process has ever had resident; 0 where the system does not tell.
std::uint64_t resident_bytes_max();

}  // namespace ballast::transport
