#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/ballast/bench_certificates.h"
#include "apps/ballast/bench_link.h"
#include "apps/ballast/bench_measurement.h"
#include "apps/ballast/bench_serve.h"
#include "ballast/service/plan.h"
#include "ballast/transport/endpoint.h"

namespace ballast::apps {
namespace {

// Answers every connection on a thread of its own.
class PlainServer {
 public:
  PlainServer(std::size_t dim, LinkMaker maker)
      : dim_(dim), maker_(std::move(maker)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {}

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
    while (link->receive_all(values) && link->send_all(values)) continue;
  }

  std::size_t dim_;
  LinkMaker maker_;
  Socket listener_;
  std::vector<std::thread> threads_;
};

Status keep_copying(std::size_t dim, const std::optional<transport::TlsFiles>& files,
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
    if (!link->send_all(update) || !link->receive_all(model)) return io_error("a connection broke");
    floor.note_update(is_first);
  }
  return {};
}

}  // namespace

Result<ServeBenchResult> bench_plain_copy(const ServeBenchOptions& options) {
  std::optional<BenchCertificates> certificates;
  if (options.has_tls) {
    BALLAST_TRY(auto made, BenchCertificates::make(options.workers));
    certificates.emplace(std::move(made));
  }
  const auto files_of = [&](const std::string& name) -> std::optional<transport::TlsFiles> {
    if (!certificates) return std::nullopt;
    return certificates->of(name);
  };
  const auto serve = [&](Floor& floor) -> Status {
    BALLAST_TRY(auto maker, LinkMaker::make(End::kServer, files_of(BenchCertificates::kServer)));
    PlainServer server(options.dim, std::move(maker));
    BALLAST_TRY(floor.port, server.start(options.workers));
    wait_for_stop(floor);
    server.stop();
    return {};
  };
  const std::vector<std::string> names = service::default_names(options.workers);
  const auto work = [&](std::size_t worker, Floor& floor) {
    return keep_copying(options.dim, files_of(names[worker]), floor);
  };
  return Measurement(options, serve, work).run();
}

}  // namespace ballast::apps
