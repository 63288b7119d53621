#pragma once
// A worker's connection to a server: join, then push updates and get models. A connection that
// breaks is made again inside the calls.
//
// Calls in the wrong order, wrong lengths and use after a move are errors; values that are not
// finite are refused before they are sent.
//
// Thread-safety: one thread at a time. The calls block.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ballast/error.h"
#include "ballast/tls.h"

namespace ballast {

struct ClientOptions {
  std::string server;  // HOST:PORT
  // None: no encryption, for a server on this machine, under the name below.
  std::optional<TlsFiles> tls = {};
  std::string name = {};         // without certificates only
  std::string server_name = {};  // in the server's certificate, if not that of the host
  std::uint64_t schema = 0;      // what the numbers of a model mean; the server has the same
  std::size_t dim = 0;
  std::size_t statistic_count = 0;
  std::chrono::milliseconds patience{300'000};  // of one call; then it gives up
  // True makes a call that waits fail soon, with kInterrupted. Borrowed.
  const std::atomic<bool>* stop = nullptr;
};

// A model and what the server knows of this worker. The values are valid until the next call.
struct ReceivedModel {
  std::uint64_t version = 0;
  std::uint64_t count = 0;        // accepted updates of this worker
  std::uint64_t incarnation = 0;  // another than before: the server was started again
  std::span<const float> values;
  bool is_over = false;  // the training has ended, there is nothing left to do
};

struct PushOutcome {
  bool is_accepted = false;
  std::string verdict;  // "accepted", why not, or "lost" when the connection broke under way
  std::uint64_t staleness = 0;
  ReceivedModel next;
};

class Client {
 public:
  // Refuses options that cannot work. Does not connect yet.
  static Result<Client> make(const ClientOptions& options);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Connects as a worker that remembers nothing and waits for a model.
  Result<ReceivedModel> join();

  // Sends an update computed on the last model and waits for the next one. After a failure, join.
  Result<PushOutcome> push(std::span<const float> values, std::span<const float> statistics = {});

  // Says good-bye: the worker's row leaves. Nothing happens without a connection.
  Status leave();

 private:
  class Body;
  explicit Client(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace ballast
