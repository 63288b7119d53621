#pragma once
// How fast the network server is on this machine: real servers and clients on loopback, and beside
// them the plainest program that moves the same bytes.

#include <cstddef>
#include <string>

#include "ballast/base/error.h"

namespace ballast::apps {

struct ServeBenchOptions {
  std::size_t dim = 0;
  std::size_t workers = 1;
  std::string rule = "mean";
  bool has_tls = false;
  std::size_t threads = 0;  // on which the server aggregates; 0: as a server chooses
  double seconds = 2.0;     // of measuring, after every worker has sent its first update
};

struct ServeBenchResult {
  double updates_per_second = 0.0;
  double bytes_per_second = 0.0;           // of values, both ways
  double server_seconds_per_update = 0.0;  // of processor time, on all cores together
};

// Workers that compute nothing: each sends the next update as soon as it has its model.
Result<ServeBenchResult> bench_serving(const ServeBenchOptions& options);

// The same turns over plain sockets, or over OpenSSL's on top of them: whoever connects sends dim
// floats into a buffer and gets as many back. Nothing is checked or aggregated.
Result<ServeBenchResult> bench_plain_copy(const ServeBenchOptions& options);

// The same in chunks, each of which has a checksum that is computed and compared, and is looked at
// for values that are not finite: what a protocol of our own could at best be.
Result<ServeBenchResult> bench_checked_copy(const ServeBenchOptions& options);

// The same turns through gRPC with the server's settings, without anything of ours at either end.
Result<ServeBenchResult> bench_grpc_copy(const ServeBenchOptions& options);

}  // namespace ballast::apps
