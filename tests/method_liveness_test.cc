// Whatever a method refuses or collects, nobody waits for it: every arrival is answered with a
// model, and the model goes on moving. And whatever it keeps, an adversary can look ahead.

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

server::ParameterServer make_server(const std::string& method) {
  return server::ParameterServer::make(
             {.worker_count = kWorkers.total()},
             {.method = method_of(method),
              .optimizer = optim::make_sgd_server<float>({.eta = 0.05}, {0, 0, 0}).value()})
      .value();
}

std::vector<sim::Arrival> arrivals_of(const char* pattern, std::size_t count) {
  const auto arrival = sim::parse_arrivals(pattern).value();
  return sim::draw_arrivals(sim::ScheduleOptions{.kind = arrival.kind,
                                                 .workers = kWorkers,
                                                 .share = 0.4,
                                                 .seed = 3,
                                                 .burst_length = arrival.burst_length},
                            count)
      .value();
}

struct Sources {
  Sources() {
    for (worker::Quadratic& quadratic : quadratics) pointers.push_back(&quadratic);
  }
  std::vector<worker::Quadratic> quadratics{kWorkers.total(),
                                            worker::Quadratic({.centre = kCentre, .noise = 0.3})};
  std::vector<worker::GradientSource*> pointers;
};

void expect_moves(const std::string& text, const char* pattern) {
  SCOPED_TRACE(text + " with arrivals " + pattern);
  auto server = make_server(text);
  const Sources sources;
  const auto attack = attacks::make_attack("sign-flip").value();
  Watch watch;
  sim::Observer* const observers[] = {&watch};
  const auto result = sim::run({.workers = kWorkers, .estimator = optim::SgdEstimator{}},
                               {.server = server,
                                .sources = sources.pointers,
                                .attack = attack.get(),
                                .observers = observers},
                               arrivals_of(pattern, kUpdates));
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->arrivals, kUpdates);
  EXPECT_LT(watch.longest, kUpdates / 10);
  EXPECT_GT(watch.steps, kUpdates / 50);
  for (const float value : *server.model().values) EXPECT_TRUE(std::isfinite(value));
}

// Asks what the server would do with its honest update, and then sends it.
class Asker final : public attacks::Attack {
 public:
  bool colludes() const noexcept override { return true; }
  bool needs_preview() const noexcept override { return true; }
  void collude(const attacks::AdversaryView& view, std::span<float> update) const override {
    const std::vector<float> doubled = {2 * update[0], 2 * update[1], 2 * update[2]};
    (void)view.preview->direction_after(doubled);  // leaves nothing behind
    const auto direction = view.preview->direction_after(update);
    model.assign(view.model.begin(), view.model.end());
    expected.assign(direction.begin(), direction.end());
  }
  mutable std::vector<float> model;
  mutable std::vector<float> expected;
};

// Compares what the asker was told with what the server did: w - eta * direction.
class Comparison final : public sim::Observer {
 public:
  explicit Comparison(const Asker& asker) : asker_(asker) {}
  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override {
    if (!record.is_byzantine) return sim::Next::kContinue;
    EXPECT_EQ(record.outcome.has_stepped, !asker_.expected.empty()) << record.t;
    for (std::size_t j = 0; j < asker_.expected.size(); ++j) {
      const float stepped = asker_.model[j] - 0.05f * asker_.expected[j];
      EXPECT_NEAR((*server.model().values)[j], stepped, 1e-6) << record.t;
    }
    steps += record.outcome.has_stepped ? 1 : 0;
    return sim::Next::kContinue;
  }
  std::uint64_t steps = 0;

 private:
  const Asker& asker_;
};

// Whatever the method keeps, an adversary's copy of it answers as the server then does.
TEST(Preview, IsWhatTheServerDoes) {
  for (const char* text :
       {"table", "table(past=5)", "asgd", "delay-adaptive(drop, concurrency=2)", "picky(0.1)",
        "fedbuff(5)", "throttle", "kardam(3)", "basgd(7, cwmed)", "zeno++", "aflguard(1.5)"}) {
    SCOPED_TRACE(text);
    Asker asker;
    Comparison comparison(asker);
    const server::MethodPointer preview = method_of(text);
    auto server = make_server(text);
    Sources sources;
    sim::Observer* const observers[] = {&comparison};
    const auto result = sim::run({.workers = kWorkers, .estimator = optim::SgdEstimator{}},
                                 {.server = server,
                                  .sources = sources.pointers,
                                  .attack = &asker,
                                  .observers = observers,
                                  .preview_method = preview.get()},
                                 arrivals_of("id", 400));
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_GE(comparison.steps, 3u);
  }
}

TEST(Preview, IsRefusedWithoutACopyOfTheMethod) {
  Asker asker;
  auto server = make_server("table");
  Sources sources;
  const auto result = sim::run({.workers = kWorkers},
                               {.server = server, .sources = sources.pointers, .attack = &asker},
                               arrivals_of("id", 10));
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("no copy of it"), std::string::npos);
}

TEST(MethodLiveness, NoMethodStallsTheSimulator) {
  for (const char* pattern : {"id", "id^2", "round-robin", "burst(20)"}) {
    for (const char* text :
         {"table", "table(past=5)", "asgd", "delay-adaptive(drop, concurrency=2)", "picky(0.1)",
          "fedbuff(20)", "throttle", "kardam(3)", "kardam(3, reference=accepted)",
          "basgd(7, cwmed)", "basgd(5, cwmed, reassign=40)", "zeno++", "aflguard(1.5)",
          "mostly-refuses"}) {
      expect_moves(text, pattern);
    }
  }
}

}  // namespace
}  // namespace ballast
