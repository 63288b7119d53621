#pragma once
// A small cluster on quadratics for tests, watched by the checkers.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ballast/attacks/registry.h"
#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"
#include "ballast/sim/checkers.h"
#include "ballast/sim/cluster.h"
#include "ballast/worker/test_quadratic.h"

namespace ballast::sim {

struct TestSetting {
  Population workers = {.honest = 3, .byzantine = 2};
  optim::EstimatorOptions estimator = optim::Mu2Estimator{};
  std::optional<optim::Averaging> averaging = optim::ConstantAverage{};  // none: x = w
  optim::StepOptions step{.eta = 0.05};
  server::Reply reply = server::Reply::kNewest;
  server::WeightPolicy weights = server::CountWeights{};
  std::optional<std::uint64_t> staleness_max = std::nullopt;
  std::string rule = "mean";
  std::string attack = "none";
  worker::QuadraticOptions quadratic{.centre = {1.0f, -2.0f, 0.5f}, .noise = 0.3};
  std::vector<float> start = {};               // empty: the origin
  std::optional<double> share = std::nullopt;  // given: what the checker holds the arrivals to
  std::uint64_t seed = 1;
  std::size_t threads = 1;
};

// What one arrival left behind, as plain values.
struct Seen {
  std::uint64_t t = 0;
  std::uint32_t worker = 0;
  std::uint64_t version = 0;
  std::uint64_t staleness = 0;
  double loss = 0.0;
  std::vector<float> row;
  std::vector<float> model;

  bool operator==(const Seen&) const = default;
};

class Recorder final : public Observer {
 public:
  Result<Next> on_arrival(const ArrivalRecord& record,
                          const server::ParameterServer& server) override {
    const std::span<const float> row = server.row(record.worker);
    seen.push_back({.t = record.t,
                    .worker = record.worker,
                    .version = record.version,
                    .staleness = record.outcome.staleness,
                    .loss = record.loss,
                    .row = {row.begin(), row.end()},
                    .model = *server.model().values});
    return record.t == stop_at ? Next::kStop : Next::kContinue;
  }

  std::vector<Seen> seen;
  std::uint64_t stop_at = 0;  // 0: never
};

class TestCluster {
 public:
  explicit TestCluster(const TestSetting& setting)
      : setting_(setting),
        server_(make_server(setting)),
        registered_(attacks::make_attack(setting.attack).value()),
        preview_method_(make_method(setting)) {
    attack = registered_.get();
    for (std::size_t i = 0; i < setting.workers.total(); ++i) {
      quadratics_.push_back(std::make_unique<worker::Quadratic>(setting.quadratic));
      sources.push_back(quadratics_.back().get());
    }
  }

  // Runs under the checkers, once.
  Result<RunResult> run(std::span<const Arrival> arrivals) {
    CheckerOptions checked{
        .workers = setting_.workers, .reply = setting_.reply, .weights = setting_.weights};
    if (setting_.share) checked.share = Share::make(*setting_.share).value();
    InvariantChecker checker(checked, server_);
    Observer* const observers[] = {&checker, &recorder_};
    auto result = run_watched(arrivals, observers, std::nullopt);
    EXPECT_TRUE(!result || checker.arrivals() == result->arrivals);
    return result;
  }

  // Goes on from a saved state; the checkers, which count from the start, do not watch.
  Result<RunResult> go_on(std::span<const Arrival> arrivals, ClusterState from) {
    Observer* const observers[] = {&recorder_};
    return run_watched(arrivals, observers, std::move(from));
  }

  server::ParameterServer& server() { return server_; }
  Recorder& recorder() { return recorder_; }
  worker::Quadratic& quadratic(std::size_t worker) { return *quadratics_[worker]; }

  // To be replaced where a test has its own.
  std::vector<worker::GradientSource*> sources{};
  const attacks::Attack* attack = nullptr;
  const std::atomic<bool>* stop = nullptr;
  CheckpointSink* checkpoints = nullptr;

 private:
  Result<RunResult> run_watched(std::span<const Arrival> arrivals,
                                std::span<Observer* const> observers,
                                std::optional<ClusterState> from) {
    return sim::run({.workers = setting_.workers,
                     .estimator = setting_.estimator,
                     .seed = setting_.seed,
                     .threads = setting_.threads,
                     .stop = stop},
                    {.server = server_,
                     .sources = sources,
                     .attack = attack,
                     .observers = observers,
                     .checkpoints = checkpoints,
                     .preview_method = preview_method_.get()},
                    arrivals, std::move(from));
  }

  static server::MethodPointer make_method(const TestSetting& setting) {
    return server::make_table_method({.worker_count = setting.workers.total(),
                                      .dim = setting.quadratic.centre.size(),
                                      .weights = setting.weights},
                                     robust::parse_rule(setting.rule).value(),
                                     kernels::make_reference_backend())
        .value();
  }

  static server::ParameterServer make_server(const TestSetting& setting) {
    std::vector<float> start = setting.start;
    start.resize(setting.quadratic.centre.size());
    auto optimizer = setting.averaging
                         ? optim::make_mu2_server<float>(setting.step, *setting.averaging, start)
                         : optim::make_sgd_server<float>(setting.step, start);
    const server::ServerOptions options{
        .worker_count = setting.workers.total(),
        .statistic_count = setting.quadratic.has_statistics ? 1u : 0u,
        .reply = setting.reply,
        .admission = {.staleness_max = setting.staleness_max}};
    return server::ParameterServer::make(
               options, {.method = make_method(setting), .optimizer = std::move(optimizer).value()})
        .value();
  }

  TestSetting setting_;
  server::ParameterServer server_;
  std::vector<std::unique_ptr<worker::Quadratic>> quadratics_;
  attacks::AttackPointer registered_;
  server::MethodPointer preview_method_;  // of the adversary
  Recorder recorder_;
};

}  // namespace ballast::sim
