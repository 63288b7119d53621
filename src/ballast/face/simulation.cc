#include "ballast/simulation.h"

#include <fmt/core.h>

#include <optional>
#include <set>
#include <utility>

#include "ballast/face/attack_adapter.h"
#include "ballast/face/gradient_adapter.h"
#include "ballast/face/guard.h"
#include "ballast/face/training.h"
#include "ballast/sim/cluster.h"
#include "ballast/sim/schedule.h"

namespace ballast {
namespace {

// Watches for faults of the caller's parts, which end the run, and tells the caller's observer.
class Watch final : public sim::Observer {
 public:
  Watch(const Simulation& simulation, const face::MadeServer& made,
        const face::AttackAdapter* attack)
      : simulation_(simulation), made_(made), attack_(attack) {}

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override {
    BALLAST_TRY_STATUS(made_.fault());
    if (attack_ != nullptr) BALLAST_TRY_STATUS(attack_->status());
    if (!simulation_.observer) return sim::Next::kContinue;
    return face::guarded("the observer", [&]() -> Result<sim::Next> {
      const bool goes_on =
          simulation_.observer({.t = record.t,
                                .worker = record.worker,
                                .is_byzantine = record.is_byzantine,
                                .loss = record.loss,
                                .verdict = face::public_verdict(record.outcome.verdict),
                                .has_stepped = record.outcome.has_stepped,
                                .newest = face::public_snapshot(server.model())});
      return goes_on ? sim::Next::kContinue : sim::Next::kStop;
    });
  }

 private:
  const Simulation& simulation_;
  const face::MadeServer& made_;
  const face::AttackAdapter* attack_;
};

Status check(const Simulation& simulation) {
  const std::size_t workers = simulation.honest + simulation.byzantine;
  if (simulation.honest == 0 || simulation.honest > sim::kWorkersMax ||
      simulation.byzantine > sim::kWorkersMax) {
    return invalid_argument(fmt::format("{} honest and {} Byzantine workers; there can be 1 to {}",
                                        simulation.honest, simulation.byzantine, sim::kWorkersMax));
  }
  if (simulation.updates == 0) return invalid_argument("a simulation of no updates");
  const std::size_t given = simulation.sources.size();
  if (given != 1 && given != workers) {
    return invalid_argument(fmt::format(
        "{} gradient sources for {} workers; give one to each, or one", given, workers));
  }
  const std::set<std::shared_ptr<GradientSource>> different(simulation.sources.begin(),
                                                            simulation.sources.end());
  if (simulation.threads > 1 && different.size() < workers) {
    return invalid_argument("workers that share a gradient source need threads = 1");
  }
  return {};
}

struct Sources {
  std::vector<std::unique_ptr<face::GradientAdapter>> own;
  std::vector<worker::GradientSource*> by_worker;
};

Result<Sources> make_sources(const Simulation& simulation) {
  Sources sources;
  for (const auto& source : simulation.sources) {
    BALLAST_TRY(auto adapter, face::GradientAdapter::make(source));
    sources.own.push_back(std::move(adapter));
  }
  for (std::size_t i = 0; i < simulation.honest + simulation.byzantine; ++i) {
    sources.by_worker.push_back(sources.own[sources.own.size() == 1 ? 0 : i].get());
  }
  return sources;
}

Result<std::vector<sim::Arrival>> draw_arrivals(const Simulation& simulation) {
  BALLAST_TRY(const auto pattern, sim::parse_arrivals(simulation.arrivals));
  if (pattern.kind == sim::ScheduleKind::kTrace) {
    return unsupported("arrivals from a trace; use another pattern");
  }
  return sim::draw_arrivals(sim::ScheduleOptions{.kind = pattern.kind,
                                                 .workers = {.honest = simulation.honest,
                                                             .byzantine = simulation.byzantine},
                                                 .share = simulation.share,
                                                 .seed = simulation.seed,
                                                 .burst_length = pattern.burst_length,
                                                 .flood_rate = pattern.flood_rate},
                            simulation.updates);
}

SimulationResult result_of(const sim::RunResult& run, const server::ParameterServer& server) {
  SimulationResult result{.model = face::public_snapshot(server.model()),
                          .is_complete = run.ending == sim::Ending::kComplete,
                          .arrivals = run.arrivals,
                          .byzantine_arrivals = run.byzantine_arrivals,
                          .accepted = server.accepted_count(),
                          .workers = {},
                          .method_figures = {}};
  for (std::uint32_t i = 0; i < server.worker_count(); ++i) {
    result.workers.push_back(face::facts_of(server.worker(i)));
  }
  for (const server::NamedNumber& figure : server.method().figures()) {
    result.method_figures.push_back({.name = figure.name, .value = figure.value});
  }
  return result;
}

Result<SimulationResult> run(Training training, const Simulation& simulation) {
  BALLAST_TRY_STATUS(check(simulation));
  BALLAST_TRY(const auto arrivals, draw_arrivals(simulation));
  BALLAST_TRY(const Sources sources, make_sources(simulation));
  const auto estimator = face::estimator_of(training.optimizer);
  training.statistic_count = sources.own[0]->initial_statistics().size();
  const std::size_t worker_count = simulation.honest + simulation.byzantine;
  std::optional<face::AttackAdapter> adapter;  // of an attack of the caller's own
  const attacks::Attack* attack = nullptr;
  server::MethodPointer preview_method;
  if (simulation.attack != nullptr) {
    attack = face::library_attack(*simulation.attack);
    if (attack == nullptr) attack = &adapter.emplace(*simulation.attack);
    if (adapter) BALLAST_TRY_STATUS(adapter->status());
    BALLAST_TRY_STATUS(attack->check_honest_count(simulation.honest));
    if (attack->needs_preview()) {
      BALLAST_TRY(preview_method, face::make_preview_method(worker_count, training));
    }
  }
  BALLAST_TRY(auto made, face::make_server(worker_count, std::move(training), {}));
  Watch watch(simulation, made, adapter ? &*adapter : nullptr);
  sim::Observer* const observer = &watch;
  BALLAST_TRY(const auto result,
              sim::run({.workers = {.honest = simulation.honest, .byzantine = simulation.byzantine},
                        .estimator = estimator,
                        .seed = simulation.seed,
                        .threads = simulation.threads},
                       {.server = made.server,
                        .sources = sources.by_worker,
                        .attack = attack,
                        .observers = {&observer, 1},
                        .preview_method = preview_method.get()},
                       arrivals));
  return result_of(result, made.server);
}

}  // namespace

Result<SimulationResult> simulate(Training training, const Simulation& simulation) {
  return face::guarded("simulate", [&] { return run(std::move(training), simulation); });
}

}  // namespace ballast
