// A training loop of one's own around transport::Client: five workers fit a linear model to points
// that each of them alone sees, and one of them lies. train() is what a worker runs, wherever it
// runs; so that this can be tried at once, the server and all workers are threads of this program,
// on loopback and without certificates.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/kernels/backend.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"
#include "ballast/transport/client.h"
#include "ballast/transport/server.h"

namespace {

using ballast::Result, ballast::Rng, ballast::Status;
using Vector = std::vector<float>;
namespace kernels = ballast::kernels;
namespace optim = ballast::optim;
namespace robust = ballast::robust;
namespace server = ballast::server;
namespace transport = ballast::transport;

const Vector kTruth = {2.0f, -1.0f, 0.5f, 3.0f};
const std::vector<std::string> kNames = {"ann", "bob", "cleo", "dan", "liar"};
constexpr std::uint64_t kUpdates = 500;
constexpr std::uint64_t kSchema = 1;  // server and workers must mean the same numbers

// The gradient of (<model, point> - value)^2 / 2 at a random point, whose value is a little noisy.
Vector gradient(std::span<const float> model, Rng& rng) {
  Vector point(model.size());
  double error = 0.1 * rng.normal();
  for (std::size_t j = 0; j < point.size(); ++j) {
    point[j] = static_cast<float>(rng.normal());
    error += (model[j] - kTruth[j]) * point[j];
  }
  for (float& value : point) value *= static_cast<float>(error);
  return point;
}

Status train(const std::string& address, const std::string& name) {
  BALLAST_TRY(auto client,
              transport::Client::make(
                  {.server = address, .name = name, .schema_hash = kSchema, .dim = kTruth.size()}));
  BALLAST_TRY(transport::ClientModel model, client.join());
  Rng rng(std::hash<std::string>{}(name));
  while (model.version < kUpdates) {
    Vector update = gradient(model.values, rng);
    if (name == "liar") update.assign(update.size(), 1000.0f);
    BALLAST_TRY(const transport::PushResult result, client.push(update));
    model = result.next;
  }
  return {};
}

// Whatever one of the five workers does, it never holds more than 0.3 of the weight.
Result<transport::NetworkServer> start_server() {
  BALLAST_TRY(auto rule, robust::parse_rule("ctma(gm, 0.3)"));
  BALLAST_TRY(auto optimizer, optim::make_sgd_server<float>({.eta = 0.05}, Vector(kTruth.size())));
  BALLAST_TRY(auto method,
              server::make_table_method({.worker_count = kNames.size(),
                                         .dim = kTruth.size(),
                                         .weights = server::CappedWeights{.f = 1, .share = 0.3}},
                                        std::move(rule), kernels::make_cpu_backend(1)));
  BALLAST_TRY(auto server,
              server::ParameterServer::make(
                  {.worker_count = kNames.size(),
                   .admission = {.names = kNames, .lead = {.f = 1}, .waits_for_use = true}},
                  {.method = std::move(method), .optimizer = std::move(optimizer)}));
  return transport::NetworkServer::start({.run = "example", .schema_hash = kSchema},
                                         std::move(server), {});
}

}  // namespace

int main() {
  auto network = start_server();
  if (!network) return std::fprintf(stderr, "%s\n", network.error().message.c_str()), 1;
  const std::string address = "127.0.0.1:" + std::to_string(network->port());
  std::vector<std::thread> workers;
  workers.reserve(kNames.size());
  for (const std::string& name : kNames) {
    workers.emplace_back([&address, &name] {
      const Status status = train(address, name);
      if (!status) std::fprintf(stderr, "%s: %s\n", name.c_str(), status.error().message.c_str());
    });
  }
  for (std::thread& worker : workers) worker.join();
  double distance = 0.0;
  network->exchange().inspect([&](const server::ParameterServer& core) {
    const Vector& model = *core.model().values;
    for (std::size_t j = 0; j < model.size(); ++j) {
      distance = std::max(distance, std::abs(double{model[j]} - kTruth[j]));
    }
  });
  std::printf("the model is %s the truth\n", distance < 0.3 ? "close to" : "far from");
}
