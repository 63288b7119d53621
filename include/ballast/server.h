#pragma once
// A parameter server on the network, inside your program: workers connect (client.h), updates are
// in a journal before they are acknowledged, checkpoints survive a crash, /status shows the rest.
//
// Thread-safety: every function may be called from any thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/error.h"
#include "ballast/tls.h"
#include "ballast/training.h"

namespace ballast {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // port 0: any free one
  std::string run = "run";             // names this training
  std::vector<std::string> names;      // of the workers, at least one
  std::uint64_t schema = 0;            // what the numbers of a model mean; workers have the same
  // None: no encryption, and then on loopback only.
  std::optional<TlsFiles> tls = {};
  std::filesystem::path denied = {};  // with tls: the list of revoked certificates
  std::uint64_t updates = 0;          // the training is over after so many; 0: never
  std::string http = {};              // HOST:PORT of /status and /metrics; empty: none
  std::filesystem::path state = {};   // folder of journal and checkpoints; empty: nothing is kept
  bool is_resume = false;             // go on from what `state` holds, else it must be new
  std::uint64_t checkpoint_every = 1000;  // accepted updates
  // No worker gets further ahead than about twice the (f+1)-th; 0: no limit.
  std::size_t lead_f = 0;
  std::chrono::milliseconds silence_max{0};  // then a worker loses its row; 0: never
  // Told what happens, a line of JSON each; called from several threads.
  std::function<void(std::string_view line)> log = {};
};

class Server {
 public:
  // Listens and serves. An error if it cannot begin.
  static Result<Server> start(Training training, ServerOptions options);

  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();  // stops it, if nobody has

  std::uint16_t port() const noexcept;
  std::uint16_t http_port() const noexcept;         // 0: none
  std::uint64_t resumed_count() const noexcept;     // accepted updates it began with
  Result<Snapshot> model() const;                   // the newest one
  Result<std::string> status() const;               // what /status answers, JSON
  Result<WorkerFacts> worker(std::uint32_t) const;  // by its place among the names
  Result<std::uint64_t> accepted_count() const;

  // Waits until the training is over; false if it is not after this time. An error if the journal
  // or the last checkpoint failed.
  Result<bool> wait(std::chrono::milliseconds time_max) const;

  // Saves, tells the workers and ends the threads. Further calls do nothing.
  Status stop();

 private:
  class Body;
  explicit Server(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace ballast
