#include "apps/ballast/bench_serve.h"

#include <optional>
#include <utility>
#include <vector>

#include "apps/ballast/bench_certificates.h"
#include "apps/ballast/bench_measurement.h"
#include "apps/ballast/service_flags.h"
#include "ballast/assembly/parts.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"
#include "ballast/service/credentials.h"
#include "ballast/service/plan.h"
#include "ballast/transport/client.h"

namespace ballast::apps {
namespace {

constexpr std::uint64_t kSchema = 1;

Result<transport::NetworkServer> start_server(
    const ServeBenchOptions& options, const std::optional<BenchCertificates>& certificates) {
  BALLAST_TRY(auto rule, robust::parse_rule(options.rule));
  const std::shared_ptr<const kernels::Backend> backend = kernels::make_cpu_backend(
      options.threads > 0 ? options.threads
                          : assembly::server_threads(options.workers, options.dim));
  BALLAST_TRY(auto optimizer, optim::make_sgd_server<float>({.eta = 1e-3, .backend = backend},
                                                            std::vector<float>(options.dim)));
  BALLAST_TRY(auto method,
              server::make_table_method({.worker_count = options.workers, .dim = options.dim},
                                        std::move(rule), backend));
  BALLAST_TRY(auto server, server::ParameterServer::make(
                               {.worker_count = options.workers,
                                .admission = {.names = service::default_names(options.workers)}},
                               {.method = std::move(method), .optimizer = std::move(optimizer)}));
  transport::NetworkServerOptions network{.run = "bench", .schema_hash = kSchema};
  if (certificates) {
    network.tls = certificates->of(BenchCertificates::kServer);
    BALLAST_TRY(network.identify,
                service::make_identify(certificates->path() / "denied", wall_clock));
  }
  return transport::NetworkServer::start(network, std::move(server), {});
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

}  // namespace

Result<ServeBenchResult> bench_serving(const ServeBenchOptions& options) {
  BALLAST_TRY(const auto certificates, make_certificates(options));
  const auto serve = [&](Floor& floor) -> Status {
    BALLAST_TRY(auto server, start_server(options, certificates));
    floor.port = server.port();
    wait_for_stop(floor);
    server.stop();  // so that workers that wait for an answer return
    return {};
  };
  const std::vector<std::string> names = service::default_names(options.workers);
  const auto work = [&](std::size_t worker, Floor& floor) -> Status {
    transport::ClientOptions client{.server = "127.0.0.1:" + std::to_string(floor.port),
                                    .tls = files_of(certificates, names[worker]),
                                    .name = names[worker]};
    return keep_pushing(options, std::move(client), floor);
  };
  return Measurement(options, serve, work).run();
}

}  // namespace ballast::apps
