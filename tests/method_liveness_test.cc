// Whatever a method refuses or collects, nobody waits for it: every arrival is answered with a
// model, and the model goes on moving.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "ballast/attacks/registry.h"
#include "ballast/methods/registry.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/sim/cluster.h"
#include "ballast/sim/schedule.h"
#include "ballast/worker/test_quadratic.h"

namespace ballast {
namespace {

constexpr sim::Population kWorkers = {.honest = 7, .byzantine = 3};
constexpr std::size_t kUpdates = 2000;
const std::vector<float> kCentre = {1.0f, -2.0f, 0.5f};

class OwnQuadratic final : public server::ServerGradient {
 public:
  Status gradient(std::span<const float> model, std::uint64_t draw, std::span<float> out) override {
    const worker::Sample sample{.key = {.seed = 5, .worker = 99, .step = draw}};
    BALLAST_TRY_STATUS(quadratic_.gradient(model, sample, out, {}));
    return {};
  }

 private:
  worker::Quadratic quadratic_{{.centre = kCentre, .noise = 0.1}};
};

// Lets one update in twenty through.
class MostlyRefuses final : public server::Method {
 public:
  std::string description() const override { return "mostly-refuses"; }
  server::Answer on_update(const server::AdmittedUpdate& update) override {
    if (++seen_ % 20 != 0) return server::Answer::refused();
    ++counts_[update.worker];
    return server::Answer::along(update.values);
  }
  void remove(std::uint32_t worker) override { counts_[worker] = 0; }
  server::WorkerShare worker(std::uint32_t worker) const override {
    return {.count = counts_[worker]};
  }
  server::MethodStateView state() const override { return {}; }
  Status restore(server::MethodState, std::span<const std::uint64_t>) override { return {}; }

 private:
  std::uint64_t seen_ = 0;
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kWorkers.total());
};

// The longest stretch of arrivals that left the model where it was, and how often it moved.
class Watch final : public sim::Observer {
 public:
  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override {
    waited_ = record.outcome.has_stepped ? 0 : waited_ + 1;
    longest = std::max(longest, waited_);
    steps += record.outcome.has_stepped ? 1 : 0;
    EXPECT_TRUE(server.has_ticket(record.worker)) << "whoever sent goes on";
    return sim::Next::kContinue;
  }
  std::uint64_t longest = 0;
  std::uint64_t steps = 0;

 private:
  std::uint64_t waited_ = 0;
};

server::MethodPointer method_of(const std::string& text) {
  if (text == "mostly-refuses") return std::make_unique<MostlyRefuses>();
  return methods::make_method(text, {.worker_count = kWorkers.total(),
                                     .dim = kCentre.size(),
                                     .eta = 0.05,
                                     .backend = kernels::make_cpu_backend(1),
                                     .server_gradient = std::make_shared<OwnQuadratic>()})
      .value();
}

void expect_moves(const std::string& text, const char* pattern) {
  SCOPED_TRACE(text + " with arrivals " + pattern);
  auto server = server::ParameterServer::make(
                    {.worker_count = kWorkers.total()},
                    {.method = method_of(text),
                     .optimizer = optim::make_sgd_server<float>({.eta = 0.05}, {0, 0, 0}).value()})
                    .value();
  const auto arrival = sim::parse_arrivals(pattern).value();
  const auto arrivals =
      sim::draw_arrivals(sim::ScheduleOptions{.kind = arrival.kind,
                                              .workers = kWorkers,
                                              .share = 0.4,
                                              .seed = 3,
                                              .burst_length = arrival.burst_length},
                         kUpdates)
          .value();
  std::vector<worker::Quadratic> quadratics(kWorkers.total(),
                                            worker::Quadratic({.centre = kCentre, .noise = 0.3}));
  std::vector<worker::GradientSource*> sources;
  for (worker::Quadratic& quadratic : quadratics) sources.push_back(&quadratic);
  const auto attack = attacks::make_attack("sign-flip").value();
  Watch watch;
  sim::Observer* const observers[] = {&watch};
  const auto result = sim::run(
      {.workers = kWorkers, .estimator = optim::SgdEstimator{}},
      {.server = server, .sources = sources, .attack = attack.get(), .observers = observers},
      arrivals);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->arrivals, kUpdates);
  EXPECT_LT(watch.longest, kUpdates / 10);
  EXPECT_GT(watch.steps, kUpdates / 50);
  for (const float value : *server.model().values) EXPECT_TRUE(std::isfinite(value));
}

TEST(MethodLiveness, NoMethodStallsTheSimulator) {
  for (const char* pattern : {"id", "id^2", "round-robin", "burst(20)"}) {
    for (const char* text :
         {"table", "asgd", "delay-adaptive(drop, concurrency=2)", "picky(0.1)", "fedbuff(20)",
          "throttle", "kardam(3)", "kardam(3, reference=accepted)", "basgd(7, cwmed)",
          "basgd(5, cwmed, reassign=40)", "zeno++", "aflguard(1.5)", "mostly-refuses"}) {
      expect_moves(text, pattern);
    }
  }
}

}  // namespace
}  // namespace ballast
