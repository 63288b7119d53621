#include "ballast/simulate/server_life.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/base/rng.h"
#include "ballast/kernels/backend.h"
#include "ballast/methods/registry.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/simulate/purpose.h"
#include "ballast/simulate/toy_gradient.h"

namespace ballast::simulate {
namespace {

constexpr std::uint64_t kUpdates = std::uint64_t{1} << 40;  // a run that is never complete
constexpr std::uint64_t kEvaluateEvery = 40;
constexpr double kEta = 0.05;

// The same problem as that of the workers, from a sample of the server's own.
class OwnGradient final : public server::ServerGradient {
 public:
  explicit OwnGradient(std::uint64_t seed) : seed_(seed) {}
  Status gradient(std::span<const float> model, std::uint64_t draw, std::span<float> out) override {
    Rng rng({.seed = seed_, .purpose = kPurposeOwnValues, .step = draw});
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = toy_gradient(model[i], i, rng);
    return {};
  }

 private:
  std::uint64_t seed_;
};

Result<server::MethodPointer> make_method(const Scenario& scenario) {
  const std::string text =
      scenario.has_table() ? fmt::format("table(past={})", scenario.past) : scenario.method;
  return methods::make_method(text,
                              {.worker_count = scenario.workers + scenario.free_places,
                               .free_places = scenario.free_places,
                               .dim = scenario.dim,
                               .eta = kEta,
                               .seed = scenario.seed,
                               .backend = kernels::make_cpu_backend(1),
                               .server_gradient = std::make_shared<OwnGradient>(scenario.seed),
                               .rule = scenario.rule,
                               .weights = scenario.policy});
}

Result<optim::ServerOptimizerPointer<float>> make_optimizer(const Scenario& scenario) {
  const optim::StepOptions step{.eta = kEta};
  std::vector<float> start(scenario.dim, 1.0f);
  if (!scenario.averages) return optim::make_sgd_server<float>(step, std::move(start));
  return optim::make_mu2_server<float>(step, optim::ConstantAverage{0.1}, std::move(start));
}

service::CheckpointWriterOptions writer_options(const Scenario& scenario, bool is_resume,
                                                store::FileSystem& disk) {
  return {.folder = kStateFolder,
          .is_resume = is_resume,
          .policy = {.every_updates = scenario.checkpoint_every},
          .run = "simulated",
          .configuration = kConfiguration,
          .clock = [] { return std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000)); },
          .disk = &disk};
}

service::ServerHooksOptions hooks_options(const Scenario& scenario,
                                          const ServerSurroundings& surroundings) {
  return {.updates = kUpdates,
          .evaluate_every = kEvaluateEvery,
          .unsaved_max = scenario.unsaved_max,
          .events = surroundings.events,
          .sleep = [sleep = surroundings.sleep](auto time) { sleep(time); }};
}

transport::ExchangeOptions exchange_options(const Scenario& scenario,
                                            const ServerSurroundings& surroundings) {
  using Clock = std::chrono::steady_clock;
  return {.tick = std::chrono::duration_cast<std::chrono::milliseconds>(scenario.tick),
          .has_thread = false,
          .clock = [now = surroundings.now] { return Clock::time_point(now()); }};
}

server::AdmissionOptions admission_options(const Scenario& scenario) {
  return {.names = worker_names(scenario.workers),
          .free_places = scenario.free_places,
          .lead = scenario.lead,
          .waits_for_use = true,
          .silence_max = scenario.silence_max};
}

}  // namespace

std::string worker_name(std::uint32_t worker) { return fmt::format("worker-{}", worker); }

std::vector<std::string> worker_names(std::size_t workers) {
  std::vector<std::string> names(workers);
  for (std::uint32_t i = 0; i < workers; ++i) names[i] = worker_name(i);
  return names;
}

Result<server::ParameterServer> make_simulated_server(const Scenario& scenario,
                                                      const ServerComponents& components,
                                                      const server::AdmissionOptions& admission) {
  BALLAST_TRY(auto method, make_method(scenario));
  if (components.method) method = components.method(std::move(method), scenario);
  BALLAST_TRY(auto optimizer, make_optimizer(scenario));
  return server::ParameterServer::make(
      {.worker_count = scenario.workers + scenario.free_places,
       .statistic_count = scenario.statistic_count,
       .admission = admission},
      {.method = std::move(method), .optimizer = std::move(optimizer)});
}

Result<std::unique_ptr<ServerLife>> ServerLife::start(const Scenario& seen,
                                                      const ServerComponents& components,
                                                      bool is_resume,
                                                      const ServerSurroundings& surroundings) {
  std::unique_ptr<ServerLife> life(new ServerLife);
  Scenario scenario = seen;
  if (components.server_scenario) components.server_scenario(scenario);
  store::FileSystem* disk = surroundings.disk;
  if (components.disk) {
    life->own_disk_ = components.disk(*disk);
    disk = life->own_disk_.get();
  }
  server::AdmissionOptions admission = admission_options(scenario);
  if (components.admission) components.admission(admission);
  BALLAST_TRY(auto server, make_simulated_server(scenario, components, admission));
  BALLAST_TRY(auto checkpoints,
              service::CheckpointWriter::open(writer_options(scenario, is_resume, *disk), server));
  life->resumed_ = checkpoints.resumed();
  for (const store::EnrolledWorker& worker : checkpoints.workers()) {
    life->certificates_.push_back(worker.certificate);
  }
  life->incarnation_ = checkpoints.incarnation();
  if (components.incarnation) life->incarnation_ = components.incarnation(life->incarnation_);
  server.begin_incarnation(life->incarnation_);
  service::ServerHooksOptions hooks = hooks_options(scenario, surroundings);
  hooks.stop = &life->stop_;
  if (components.hooks) components.hooks(hooks);
  life->hooks_ = std::make_unique<service::ServerHooks>(std::move(hooks), std::move(checkpoints));
  transport::ExchangeOptions exchange = exchange_options(scenario, surroundings);
  exchange.hooks = life->hooks_->hooks();
  if (components.exchange) components.exchange(exchange);
  exchange.hooks = surroundings.watch(std::move(exchange.hooks));
  life->exchange_ = std::make_unique<transport::Exchange>(std::move(server), std::move(exchange));
  return life;
}

}  // namespace ballast::simulate
