#include "ballast/sim/update_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ballast/worker/test_quadratic.h"

namespace ballast::sim {
namespace {

server::Snapshot model_of(float value) {
  return {.version = 4, .values = std::make_shared<const std::vector<float>>(1, value)};
}

std::vector<worker::Worker> make_workers(worker::GradientSource& source, std::uint32_t count) {
  std::vector<worker::Worker> workers;
  for (std::uint32_t i = 0; i < count; ++i) {
    workers.push_back(worker::Worker::make({.id = i}, source).value());
  }
  return workers;
}

TEST(UpdatePool, ComputesWhatWasStarted) {
  for (const std::size_t threads : {1, 3}) {
    worker::Quadratic source({.centre = {1.0f}});
    auto workers = make_workers(source, 1);
    UpdatePool pool(workers, threads);
    pool.start(0, model_of(3.0f), 1);
    const worker::WorkerUpdate update = pool.finish(0).value();
    EXPECT_EQ(update.version, 4u);
    EXPECT_EQ(update.sequence, 1u);
    EXPECT_EQ(update.values[0], 2.0f);
    EXPECT_GT(pool.seconds(0), 0.0);
  }
}

TEST(UpdatePool, OneThreadComputesTheMostUrgentFirst) {
  worker::Quadratic source({.centre = {1.0f}});
  auto workers = make_workers(source, 4);
  UpdatePool pool(workers, 1);
  for (const auto& [worker, due] : {std::pair{0u, 40u}, {1u, 10u}, {2u, 30u}, {3u, 20u}}) {
    pool.start(worker, model_of(0.0f), due);
  }
  ASSERT_TRUE(pool.finish(2).has_value());
  ASSERT_EQ(source.samples.size(), 3u) << "it computed more than it had to";
  EXPECT_EQ(source.samples[0].worker, 1u);
  EXPECT_EQ(source.samples[1].worker, 3u);
  EXPECT_EQ(source.samples[2].worker, 2u);
}

TEST(UpdatePool, AnErrorComesOutAndTheWorkerMayTryAgain) {
  worker::Quadratic source({.centre = {1.0f}});
  source.fail_at_call = 1;
  auto workers = make_workers(source, 1);
  UpdatePool pool(workers, 2);
  pool.start(0, model_of(3.0f), 1);
  EXPECT_EQ(pool.finish(0).error().message, "the source is broken");
  pool.start(0, model_of(3.0f), 2);
  EXPECT_EQ(pool.finish(0).value().sequence, 1u);
}

TEST(UpdatePool, EndsWithOpenUpdatesAndWithoutAny) {
  worker::Quadratic source({.centre = {1.0f}});
  auto workers = make_workers(source, 2);
  { const UpdatePool idle(workers, 4); }
  {
    UpdatePool pool(workers, 2);
    pool.start(1, model_of(1.0f), 1);
  }
  EXPECT_LE(source.samples.size(), 1u);
}

}  // namespace
}  // namespace ballast::sim
