#include "apps/ballast/bench_serve.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "apps/ballast/service_flags.h"
#include "ballast/identity/certificate_authority.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/registry.h"
#include "ballast/service/credentials.h"
#include "ballast/service/plan.h"
#include "ballast/transport/client.h"
#include "ballast/transport/endpoint.h"

namespace ballast::apps {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSchema = 1;
constexpr std::chrono::milliseconds kPoll{1};
constexpr std::chrono::seconds kStartMax{60};

// What the workers of a measurement share.
struct Floor {
  std::atomic<std::uint64_t> updates = 0;
  std::atomic<std::size_t> ready = 0;  // workers that have sent their first update
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::optional<Error> failure;  // behind mutex; the first one

  void note_update(bool is_first) {
    ++updates;
    if (is_first) ++ready;
  }
  void fail(Error error) {
    const std::lock_guard lock(mutex);
    if (!stop && !failure) failure = std::move(error);
    stop = true;
  }
};

// Runs the workers, waits until all are at work, and counts for the time that was asked for.
class Measurement {
 public:
  using Work = std::function<Status(std::size_t worker, Floor& floor)>;

  Measurement(const ServeBenchOptions& options, Work work)
      : options_(options), work_(std::move(work)) {}

  Result<ServeBenchResult> run(const std::function<void()>& hang_up) {
    for (std::size_t i = 0; i < options_.workers; ++i) {
      threads_.emplace_back([this, i] {
        if (Status done = work_(i, floor_); !done) floor_.fail(std::move(done).error());
      });
    }
    const ServeBenchResult result = count();
    const bool is_ready = floor_.ready == options_.workers;
    floor_.stop = true;
    hang_up();
    for (std::thread& thread : threads_) thread.join();
    if (floor_.failure) return tl::unexpected(*std::move(floor_.failure));
    if (!is_ready) return io_error("the workers did not get to work within a minute");
    return result;
  }

 private:
  ServeBenchResult count() {
    const auto give_up = Clock::now() + kStartMax;
    while (floor_.ready < options_.workers && !floor_.stop && Clock::now() < give_up) {
      std::this_thread::sleep_for(kPoll);
    }
    const std::uint64_t before = floor_.updates;
    const Clock::time_point start = Clock::now();
    const auto end = start + std::chrono::duration<double>(options_.seconds);
    while (Clock::now() < end && !floor_.stop) std::this_thread::sleep_for(kPoll);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double rate = static_cast<double>(floor_.updates - before) / seconds;
    return {.updates_per_second = rate,
            .bytes_per_second = rate * 2.0 * sizeof(float) * static_cast<double>(options_.dim)};
  }

  const ServeBenchOptions& options_;
  const Work work_;
  Floor floor_;
  std::vector<std::thread> threads_;
};

// An authority in a folder of its own, for as long as the measurement lasts.
class Certificates {
 public:
  static Result<Certificates> make(std::size_t workers) {
    std::string folder = (fs::temp_directory_path() / "ballast-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return io_error("cannot make a folder for certificates");
    Certificates made(folder);
    const auto now = wall_clock();
    BALLAST_TRY(auto authority, identity::CertificateAuthority::init(made.path(), {}, now));
    BALLAST_TRY_STATUS(authority.issue(
        {.name = "main", .kind = identity::Kind::kServer, .hosts = {"127.0.0.1"}}, now));
    for (const std::string& name : service::default_names(workers)) {
      BALLAST_TRY_STATUS(authority.issue({.name = name}, now));
    }
    return made;
  }

  explicit Certificates(std::string folder) : folder_(std::move(folder)) {}
  Certificates(Certificates&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  ~Certificates() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }

  fs::path path() const { return fs::path(folder_) / "ca"; }
  transport::TlsFiles of(const std::string& name) const {
    return {.authority = path() / "ca.crt",
            .certificate = path() / (name + ".crt"),
            .key = path() / (name + ".key")};
  }

 private:
  std::string folder_;
};

Result<transport::NetworkServer> start_server(const ServeBenchOptions& options,
                                              const std::optional<Certificates>& certificates) {
  BALLAST_TRY(auto rule, robust::parse_rule(options.rule));
  BALLAST_TRY(auto optimizer,
              optim::make_sgd_server<float>({.eta = 1e-3}, std::vector<float>(options.dim)));
  BALLAST_TRY(auto core, server::ParameterServer::make({.worker_count = options.workers},
                                                       {.rule = std::move(rule),
                                                        .backend = kernels::make_cpu_backend(1),
                                                        .optimizer = std::move(optimizer)}));
  BALLAST_TRY(auto coordinator,
              server::Coordinator::make({.names = service::default_names(options.workers)},
                                        std::move(core)));
  transport::NetworkServerOptions network{.run = "bench", .schema_hash = kSchema};
  if (certificates) {
    network.tls = certificates->of("main");
    BALLAST_TRY(network.identify,
                service::make_identify(certificates->path() / "denied", wall_clock));
  }
  return transport::NetworkServer::start(network, std::move(coordinator), {});
}

// Sends the same update over and over.
Status keep_pushing(const ServeBenchOptions& options, transport::ClientOptions client_options,
                    Floor& floor) {
  client_options.schema_hash = kSchema;
  client_options.dim = options.dim;
  client_options.stop = &floor.stop;
  BALLAST_TRY(auto client, transport::Client::make(client_options));
  const std::vector<float> update(options.dim, 1e-3f);
  BALLAST_TRY_STATUS(client.join());
  for (bool is_first = true; !floor.stop; is_first = false) {
    BALLAST_TRY(const auto pushed, client.push(update));
    if (pushed.verdict != server::Verdict::kAccepted) return io_error("an update was not accepted");
    floor.note_update(is_first);
  }
  return {};
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }
  void hang_up() const { shutdown(descriptor_, SHUT_RDWR); }

  bool send_all(std::span<const float> values) const {
    return move_all(std::as_bytes(values).size(), [&](std::size_t done, std::size_t left) {
      return send(descriptor_, std::as_bytes(values).data() + done, left, MSG_NOSIGNAL);
    });
  }
  bool receive_all(std::span<float> values) const {
    return move_all(values.size_bytes(), [&](std::size_t done, std::size_t left) {
      return recv(descriptor_, std::as_writable_bytes(values).data() + done, left, 0);
    });
  }

 private:
  template <typename Move>
  static bool move_all(std::size_t size, Move move) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = move(done, size - done);
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  int descriptor_;
};

// Answers every connection on a thread of its own.
class PlainServer {
 public:
  explicit PlainServer(std::size_t dim) : dim_(dim), listener_(socket(AF_INET, SOCK_STREAM, 0)) {}

  Result<std::uint16_t> start(std::size_t connections) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    if (bind(listener_.descriptor(), raw, size) != 0 ||
        listen(listener_.descriptor(), static_cast<int>(connections)) != 0 ||
        getsockname(listener_.descriptor(), raw, &size) != 0) {
      return io_error("cannot listen on loopback");
    }
    for (std::size_t i = 0; i < connections; ++i) threads_.emplace_back([this] { answer(); });
    return ntohs(address.sin_port);
  }

  void stop() {
    listener_.hang_up();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void answer() {
    const Socket peer(accept(listener_.descriptor(), nullptr, nullptr));
    std::vector<float> values(dim_);
    while (peer.receive_all(values) && peer.send_all(values)) continue;
  }

  std::size_t dim_;
  Socket listener_;
  std::vector<std::thread> threads_;
};

Status keep_copying(std::size_t dim, std::uint16_t port, Floor& floor) {
  BALLAST_TRY(const auto address,
              transport::resolve({.host = "127.0.0.1", .port = std::to_string(port)}));
  const Socket peer(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(peer.descriptor(), reinterpret_cast<const sockaddr*>(&address.storage),
              address.size) != 0) {
    return io_error("cannot connect on loopback");
  }
  const std::vector<float> update(dim, 1e-3f);
  std::vector<float> model(dim);
  for (bool is_first = true; !floor.stop; is_first = false) {
    if (!peer.send_all(update) || !peer.receive_all(model)) return io_error("a connection broke");
    floor.note_update(is_first);
  }
  return {};
}

}  // namespace

Result<ServeBenchResult> bench_serving(const ServeBenchOptions& options) {
  std::optional<Certificates> certificates;
  if (options.has_tls) {
    BALLAST_TRY(auto made, Certificates::make(options.workers));
    certificates.emplace(std::move(made));
  }
  BALLAST_TRY(auto server, start_server(options, certificates));
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  const std::vector<std::string> names = service::default_names(options.workers);
  Measurement measurement(options, [&](std::size_t worker, Floor& floor) {
    transport::ClientOptions client{.server = address, .name = names[worker]};
    if (certificates) client.tls = certificates->of(names[worker]);
    return keep_pushing(options, std::move(client), floor);
  });
  return measurement.run([&] { server.stop(); });
}

Result<ServeBenchResult> bench_plain_tcp(const ServeBenchOptions& options) {
  PlainServer server(options.dim);
  BALLAST_TRY(const std::uint16_t port, server.start(options.workers));
  Measurement measurement(
      options, [&](std::size_t, Floor& floor) { return keep_copying(options.dim, port, floor); });
  return measurement.run([&] { server.stop(); });
}

}  // namespace ballast::apps
