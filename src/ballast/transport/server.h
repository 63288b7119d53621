#pragma once
// The parameter server on the network: an Exchange behind gRPC with mutual TLS.
//
// Threads: gRPC's own, a fixed few (its callback API is used, so a stream that waits costs no
// thread); one that accepts connections; one that looks for stalled streams; one that looks for
// connections out of bounds; the exchange's.
//
// Thread-safety: every function may be called from any thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/transport/connection_guard.h"
#include "ballast/transport/exchange.h"
#include "ballast/transport/identify.h"
#include "ballast/transport/listener.h"
#include "ballast/transport/notices.h"

namespace ballast::transport {

// PEM files. The server reads them again when they change.
struct TlsFiles {
  std::string authority;    // certificate of the CA that signs the other side
  std::string certificate;  // one's own
  std::string key;
};

struct NetworkLimits {
  std::size_t connections_max = 1024;
  // On which no worker takes part. The oldest makes place for a newcomer.
  std::size_t strangers_per_address_max = 256;
  int streams_per_connection_max = 4;
  std::size_t streams_per_worker_max = 4;  // when another one begins, the oldest is ended
  // Models that gRPC may hold for a worker; one more resets the connection that has one longest.
  std::size_t models_per_worker_max = 2;
  std::size_t memory_bytes_max = std::size_t{256} << 20;  // of all that gRPC buffers
  int metadata_bytes_max = 8192;
  std::chrono::milliseconds handshake_max{10'000};  // TLS, HTTP/2, and again for the join
  // A transfer may take grace + bytes / rate; slower streams are dropped.
  std::chrono::milliseconds stall_grace{20'000};
  std::uint64_t bytes_per_second_min = 64 * 1024;
  // For the last words of a stream that the server ends; then it is cancelled, and a connection
  // that still holds a model of it after so long again is reset.
  std::chrono::milliseconds farewell_max{2'000};
  std::chrono::milliseconds connection_idle_max{10'000};  // without a call
  // Of a connection on which no worker has joined, at once; a join takes a few thousand.
  std::uint64_t strange_bytes_max = 32 * 1024;
};

struct NetworkServerOptions {
  std::string listen = "127.0.0.1:0";
  std::string run = {};  // names this training; part of every ticket
  std::uint64_t schema_hash = 0;
  // None: no encryption; only loopback addresses, and a worker is whoever its header
  // `ballast-worker` says.
  std::optional<TlsFiles> tls = {};
  Identify identify = {};  // required with tls
  // Under which the workers of a resumed run joined last, by number, as PEM; empty: not known. If
  // one of them was revoked meanwhile, the row that the worker has left leaves.
  std::vector<std::string> certificates = {};
  NetworkLimits limits = {};
  // Told of what was refused, at a bounded rate, by one thread of the server's own.
  std::function<void(const Notice&)> notice = {};
  // What the process may use, see memory_budget.h. When it uses more, connections whose peers send
  // and do not read are ended. 0: as much as it likes.
  std::uint64_t memory_budget = 0;
};

struct NetworkCounts {
  ListenerCounts connections;
  GuardCounts guard;
  std::uint64_t streams_opened = 0;
  std::uint64_t streams_open = 0;     // now
  std::uint64_t streams_refused = 0;  // not enrolled, revoked, expired, ...
  std::uint64_t calls_refused = 0;    // others, for example health checks, of such certificates
  std::uint64_t streams_denied = 0;   // ended because their certificate was no longer good
  std::uint64_t workers_revoked = 0;  // rows that left for it
  bool is_deny_list_unreadable = false;
  std::uint64_t notices_left_out = 0;  // of which the log has not heard
  std::uint64_t streams_stalled = 0;
  std::uint64_t streams_surplus = 0;  // ended because their worker opened too many
  std::uint64_t joins_refused = 0;    // another protocol or another network
};

class NetworkServer {
 public:
  // Listens and serves. Refuses wrong addresses, unreadable certificates, and serving without
  // certificates on an address that others can reach.
  static Result<NetworkServer> start(const NetworkServerOptions& options,
                                     server::ParameterServer server, ExchangeOptions exchange);

  NetworkServer(NetworkServer&&) noexcept;
  NetworkServer& operator=(NetworkServer&&) noexcept;
  ~NetworkServer();

  std::uint16_t port() const;
  Exchange& exchange();
  NetworkCounts counts() const;

  // Whether training moves, for grpc.health.v1 under the name "ballast.v1.Training".
  void set_training_health(bool is_stepping);

  // Ends the streams and the threads; what was complete is still judged. The reason is told to the
  // workers: after kFinished they do not come back.
  void stop(Close why = Close::kStopping);

 private:
  class Body;
  explicit NetworkServer(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace ballast::transport
