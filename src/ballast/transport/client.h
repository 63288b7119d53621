#pragma once
// A worker's connection to the server: join, then push updates and get models, for as long as one
// likes. What a training loop of one's own is put around.
//
// A connection that breaks is made again, with growing random pauses, inside join() and push().
//
// Thread-safety: none; one thread at a time. The functions block.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ballast/base/error.h"
#include "ballast/server/update.h"
#include "ballast/transport/server.h"
#include "ballast/wire/payload.h"

namespace ballast::transport {

struct ClientOptions {
  std::string server;  // HOST:PORT
  // None: no encryption, for a server on this machine that allows it, under the name below.
  std::optional<TlsFiles> tls = {};
  std::string name = {};         // used without certificates only
  std::string server_name = {};  // the name in the server's certificate, if not that of the host
  std::uint64_t schema_hash = 0;
  std::size_t dim = 0;
  std::size_t statistic_count = 0;
  wire::Encoding model_encoding = wire::Encoding::kFloat32;
  wire::Encoding update_encoding = wire::Encoding::kFloat32;
  std::chrono::milliseconds connect_max{10'000};
  std::chrono::milliseconds transfer_max{30'000};  // for one chunk
  std::chrono::milliseconds answer_max{120'000};   // for a verdict or a model; the server may hold
  std::chrono::milliseconds back_off_min{100};
  std::chrono::milliseconds back_off_max{10'000};
  // Of one call, and of the pauses after updates that were lost in a row; then it gives up.
  std::chrono::milliseconds patience{300'000};
  std::uint64_t seed = 0;  // of the pauses
  // True makes a call that waits fail soon, with kInterrupted. Borrowed.
  const std::atomic<bool>* stop = nullptr;
};

// A model and what the server knows of this worker. The values are valid until the next call.
struct ClientModel {
  std::string run;
  std::uint64_t incarnation = 0;  // another one than before: the server was started again, and
                                  // may have lost the newest updates
  std::uint64_t version = 0;
  std::uint64_t count = 0;  // accepted updates of this worker
  std::span<const float> values;
  // The training has ended: there is nothing left to do, and the rest is as it was before.
  bool is_over = false;
};

struct PushResult {
  // None: the connection broke before the update was in, or parts of it went astray; it is lost.
  std::optional<server::Verdict> verdict;
  std::uint64_t staleness = 0;
  ClientModel next;
};

class Client {
 public:
  // Refuses options that cannot work. Does not connect yet.
  static Result<Client> make(const ClientOptions& options);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Connects as a worker that remembers nothing and waits for a model. Fails at once if the server
  // refuses this worker for good, and when patience ends.
  Result<ClientModel> join();

  // Makes the connection anew, with the certificates as the files have them now, as a worker that
  // kept its memory: its row stays. Fails as join() does.
  Result<ClientModel> rejoin();

  // Sends an update computed on the last model and waits for the next one. Fails as join() does;
  // after a failure join() may be tried again.
  //
  // Requires: values.size() == dim, statistics.size() == statistic_count.
  Result<PushResult> push(std::span<const float> values, std::span<const float> statistics = {});

  // Says good-bye, so that the row leaves the table at once; does nothing without a connection.
  void leave();

  std::uint64_t reconnect_count() const;

 private:
  class Body;
  explicit Client(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace ballast::transport
