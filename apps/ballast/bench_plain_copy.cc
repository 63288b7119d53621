#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/ballast/bench_certificates.h"
#include "apps/ballast/bench_link.h"
#include "apps/ballast/bench_measurement.h"
#include "apps/ballast/bench_serve.h"
#include "ballast/kernels/finite.h"
#include "ballast/service/plan.h"
#include "ballast/transport/endpoint.h"
#include "ballast/wire/crc32c.h"
#include "ballast/wire/limits.h"

namespace ballast::apps {
namespace {

// Whether the ends check what they move, as a protocol of our own on top of TCP would.
enum class Checks : bool { kNone, kAll };

// Calls move(chunk) for each chunk; false if one of the calls fails.
template <typename Value, typename Move>
bool for_each_chunk(std::span<Value> values, Move move) {
  constexpr std::size_t kValues = wire::kChunkBytes / sizeof(float);
  for (; !values.empty(); values = values.subspan(std::min(kValues, values.size()))) {
    if (!move(values.first(std::min(kValues, values.size())))) return false;
  }
  return true;
}

bool send(Link& link, Checks checks, std::span<const float> values) {
  if (checks == Checks::kNone) return link.send_all(values);
  return for_each_chunk(values, [&](std::span<const float> chunk) {
    const float sum = std::bit_cast<float>(wire::crc32c(std::as_bytes(chunk)));
    return link.send_all({&sum, 1}) && link.send_all(chunk);
  });
}

bool receive(Link& link, Checks checks, std::span<float> values) {
  if (checks == Checks::kNone) return link.receive_all(values);
  return for_each_chunk(values, [&](std::span<float> chunk) {
    float sum = 0.0f;
    return link.receive_all({&sum, 1}) && link.receive_all(chunk) &&
           wire::crc32c(std::as_bytes(chunk)) == std::bit_cast<std::uint32_t>(sum) &&
           kernels::all_finite(chunk);
  });
}

// Answers every connection on a thread of its own.
class PlainServer {
 public:
  PlainServer(std::size_t dim, LinkMaker maker, Checks checks)
      : dim_(dim),
        maker_(std::move(maker)),
        checks_(checks),
        listener_(socket(AF_INET, SOCK_STREAM, 0)) {}

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
    const auto link = maker_.link(peer);
    if (!link) return;
    std::vector<float> values(dim_);
    while (receive(*link, checks_, values) && send(*link, checks_, values)) continue;
  }

  std::size_t dim_;
  LinkMaker maker_;
  Checks checks_;
  Socket listener_;
  std::vector<std::thread> threads_;
};

Status keep_copying(std::size_t dim, const std::optional<transport::TlsFiles>& files, Checks checks,
                    Floor& floor) {
  BALLAST_TRY(const auto maker, LinkMaker::make(End::kWorker, files));
  BALLAST_TRY(const auto address,
              transport::resolve({.host = "127.0.0.1", .port = std::to_string(floor.port)}));
  const Socket peer(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(peer.descriptor(), reinterpret_cast<const sockaddr*>(&address.storage),
              address.size) != 0) {
    return io_error("cannot connect on loopback");
  }
  const auto link = maker.link(peer);
  if (!link) return io_error("the two ends of a connection cannot agree on TLS");
  const std::vector<float> update(dim, 1e-3f);
  std::vector<float> model(dim);
  for (bool is_first = true; !floor.stop; is_first = false) {
    if (!send(*link, checks, update) || !receive(*link, checks, model)) {
      return io_error("a connection broke");
    }
    floor.note_update(is_first);
  }
  return {};
}

Result<ServeBenchResult> bench_copy(const ServeBenchOptions& options, Checks checks) {
  BALLAST_TRY(const auto certificates, make_certificates(options));
  const auto serve = [&](Floor& floor) -> Status {
    BALLAST_TRY(auto maker,
                LinkMaker::make(End::kServer, files_of(certificates, BenchCertificates::kServer)));
    PlainServer server(options.dim, std::move(maker), checks);
    BALLAST_TRY(floor.port, server.start(options.workers));
    wait_for_stop(floor);
    server.stop();
    return {};
  };
  const std::vector<std::string> names = service::default_names(options.workers);
  const auto work = [&](std::size_t worker, Floor& floor) {
    return keep_copying(options.dim, files_of(certificates, names[worker]), checks, floor);
  };
  return Measurement(options, serve, work).run();
}

}  // namespace

Result<ServeBenchResult> bench_plain_copy(const ServeBenchOptions& options) {
  return bench_copy(options, Checks::kNone);
}

Result<ServeBenchResult> bench_checked_copy(const ServeBenchOptions& options) {
  return bench_copy(options, Checks::kAll);
}

}  // namespace ballast::apps
