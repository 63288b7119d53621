// The face adds no arithmetic of its own: its results are those of the rooms, bit for bit.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ballast/attacks/registry.h"
#include "ballast/face/gradient_adapter.h"
#include "ballast/face/test_parts.h"
#include "ballast/face/training.h"
#include "ballast/parameter_server.h"
#include "ballast/robust/aggregate.h"
#include "ballast/rules.h"
#include "ballast/sim/cluster.h"
#include "ballast/sim/schedule.h"
#include "ballast/simulation.h"
#include "ballast/table.h"
#include "ballast/worker.h"

namespace ballast::face {
namespace {

using Vector = std::vector<float>;

const Vector kTruth = {2.0f, -1.0f, 0.5f};
const std::vector<Vector> kRows = {{1.0f, 2.0f, 3.0f},
                                   {1.1f, 1.9f, 3.0f},
                                   {0.9f, 2.1f, 2.9f},
                                   {1.0f, 2.0f, 3.1f},
                                   {-90.0f, 80.0f, -70.0f}};
const std::vector<double> kWeights = {4, 4, 5, 4, 9};

TEST(SameResult, OfAllFormsOfARule) {
  for (const char* text : {"mean", "cwmed", "ctma(cwmed, 0.4)", "nnm(cwmed, 0.4)"}) {
    const auto expected = robust::aggregate(text, kRows, kWeights).value();
    const auto in_short = aggregate(text, kRows, kWeights).value();
    EXPECT_EQ(in_short.values, expected.values) << text;
    EXPECT_EQ(in_short.report.kept, expected.report.kept) << text;

    const Rule rule = Rule::parse(text).value();
    EXPECT_EQ(rule.text(), text);
    auto aggregator = Aggregator::make(rule).value();
    const std::vector<std::span<const float>> rows(kRows.begin(), kRows.end());
    Vector out(3);
    const auto report = aggregator.aggregate(rows, kWeights, out).value();
    EXPECT_EQ(out, expected.values) << text;
    EXPECT_EQ(report.kept, expected.report.kept) << text;

    auto table = RowTable::make(rule, kRows.size(), 3).value();
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      ASSERT_TRUE(table.put(i, kRows[i], kWeights[i]).has_value());
    }
    const auto of_table = table.aggregate().value();
    for (std::size_t j = 0; j < out.size(); ++j) EXPECT_NEAR(of_table[j], out[j], 1e-6) << text;
    EXPECT_EQ(table.row(2).value(), kRows[2]);
  }
}

// By hand: the mean of (2, 0) and (4, 2) is (3, 1), and the step half of that.
TEST(SameResult, OfAMethodByName) {
  const Optimizer sgd{.kind = OptimizerKind::kSgd, .eta = 0.5};
  auto server =
      ParameterServer::make(2, {.start = Vector(2), .optimizer = sgd, .named_method = "fedbuff(2)"})
          .value();
  ASSERT_TRUE(server.join(0).has_value());
  EXPECT_FALSE(server.update(0, Vector{2.0f, 0.0f}).value().has_stepped);
  EXPECT_TRUE(server.update(0, Vector{4.0f, 2.0f}).value().has_stepped);
  EXPECT_EQ(*server.model().value().values, (Vector{-1.5f, -0.5f}));
}

// Twice the same cluster: by the face, and by hand from the parts of the rooms.
TEST(SameResult, OfASimulation) {
  const Optimizer optimizer{.kind = OptimizerKind::kMu2, .eta = 0.05};
  Simulation simulation{.honest = 4,
                        .byzantine = 2,
                        .share = 0.3,
                        .arrivals = "id",
                        .updates = 120,
                        .seed = 7,
                        .sources = {std::make_shared<Bowl>(kTruth)},
                        .attack = parse_attack("empire(0.1)").value()};
  std::uint64_t seen = 0;
  simulation.observer = [&](const ArrivalFacts& facts) { return facts.t == ++seen; };
  const auto result = simulate({.start = Vector(3), .optimizer = optimizer}, simulation).value();
  EXPECT_EQ(seen, 120u);
  EXPECT_TRUE(result.is_complete);

  auto made = make_server(6, {.start = Vector(3), .optimizer = optimizer}, {}).value();
  auto source = GradientAdapter::make(std::make_shared<Bowl>(kTruth)).value();
  const std::vector<worker::GradientSource*> sources(6, source.get());
  const auto attack = attacks::make_attack("empire(0.1)").value();
  const sim::Population workers{.honest = 4, .byzantine = 2};
  const auto arrivals =
      sim::draw_arrivals(
          sim::ScheduleOptions{
              .kind = sim::ScheduleKind::kId, .workers = workers, .share = 0.3, .seed = 7},
          120)
          .value();
  const auto run =
      sim::run({.workers = workers, .estimator = optim::Mu2Estimator{}, .seed = 7},
               {.server = made.server, .sources = sources, .attack = attack.get()}, arrivals);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(*result.model.values, *made.server.model().values);
  EXPECT_EQ(result.byzantine_arrivals, run->byzantine_arrivals);
}

// A worker and a server in process go the way of a simulation with one worker.
TEST(SameResult, OfALoopOfOnesOwn) {
  const Optimizer optimizer{.kind = OptimizerKind::kMomentum, .eta = 0.1};
  const auto bowl = std::make_shared<Bowl>(kTruth);
  const auto simulated = simulate({.start = Vector(3), .optimizer = optimizer, .rule = "mean"},
                                  {.updates = 30, .seed = 3, .sources = {bowl}})
                             .value();
  auto server =
      ParameterServer::make(1, {.start = Vector(3), .optimizer = optimizer, .rule = "mean"})
          .value();
  auto worker = Worker::make({.seed = 3, .optimizer = optimizer}, bowl).value();
  Snapshot model = server.join(0).value();
  for (int i = 0; i < 30; ++i) {
    const auto update = worker.update(*model.values).value();
    model = server.update(0, update.values).value().next;
  }
  EXPECT_EQ(*model.values, *simulated.model.values);
  EXPECT_EQ(server.worker(0)->count, 30u);
  EXPECT_EQ(server.worker(0)->weight, 30.0);
}

TEST(SameResult, AfterAWorkerStartsAnew) {
  auto worker =
      Worker::make({.optimizer = {.kind = OptimizerKind::kMu2}}, std::make_shared<Bowl>(kTruth))
          .value();
  const auto first = worker.update(Vector(3)).value();
  const Vector expected(first.values.begin(), first.values.end());
  ASSERT_TRUE(worker.update(Vector{1, 1, 1}).has_value());
  ASSERT_TRUE(worker.start_anew().has_value());
  const auto again = worker.update(Vector(3)).value();
  EXPECT_EQ(Vector(again.values.begin(), again.values.end()), expected);
}

}  // namespace
}  // namespace ballast::face
