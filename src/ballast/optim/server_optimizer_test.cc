#include "ballast/optim/server_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/kernels/backends_for_test.h"

namespace ballast::optim {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename Real>
void step(ServerOptimizer<Real>& server, std::vector<Real> direction) {
  ASSERT_TRUE(server.step(direction).has_value());
}

TEST(Mu2Server, StartsWithTheModelAtTheStart) {
  const auto server = make_mu2_server<float>({}, LinearAverage{}, {1.0f, -2.0f}).value();
  EXPECT_THAT(*server->model(), ElementsAre(1.0f, -2.0f));
  EXPECT_EQ(server->version(), 0u);
  EXPECT_EQ(server->state().w, server->state().x);
}

// w_1 = x_1 = 1, eta = 0.1, directions 2, 1, -1:
//   w_2 = 1 - 0.1 * 1 * 2 = 0.8     x_2 = (1 * 1 + 2 * 0.8) / 3 = 2.6 / 3
//   w_3 = 0.8 - 0.1 * 2 * 1 = 0.6   x_3 = (2.6 + 3 * 0.6) / 6 = 4.4 / 6
//   w_4 = 0.6 + 0.1 * 3 * 1 = 0.9   x_4 = (4.4 + 4 * 0.9) / 10 = 0.8
TEST(Mu2Server, FollowsTheTheoryForThreeSteps) {
  const auto server = make_mu2_server<double>({.eta = 0.1}, LinearAverage{}, {1.0}).value();
  step(*server, {2.0});
  EXPECT_THAT(server->state().w, ElementsAre(DoubleEq(0.8)));
  EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(2.6 / 3)));
  step(*server, {1.0});
  EXPECT_THAT(server->state().w, ElementsAre(DoubleEq(0.6)));
  EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(4.4 / 6)));
  step(*server, {-1.0});
  EXPECT_THAT(server->state().w, ElementsAre(DoubleEq(0.9)));
  EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(0.8)));
  EXPECT_EQ(server->version(), 3u);
}

// The same directions with alpha_t = 1 and gamma = 0.1:
//   w_2 = 1 - 0.1 * 2 = 0.8     x_2 = 0.08 + 0.9 * 1 = 0.98
//   w_3 = 0.8 - 0.1 * 1 = 0.7   x_3 = 0.07 + 0.9 * 0.98 = 0.952
//   w_4 = 0.7 + 0.1 * 1 = 0.8   x_4 = 0.08 + 0.9 * 0.952 = 0.9368
TEST(Mu2Server, FollowsThePracticeForThreeSteps) {
  const auto server =
      make_mu2_server<double>({.eta = 0.1}, ConstantAverage{.gamma = 0.1}, {1.0}).value();
  step(*server, {2.0});
  EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(0.98)));
  step(*server, {1.0});
  EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(0.952)));
  step(*server, {-1.0});
  EXPECT_THAT(server->state().w, ElementsAre(DoubleEq(0.8)));
  EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(0.9368)));
}

TEST(Mu2Server, KeepsTheIterateInTheProjectionSet) {
  const StepOptions options{.eta = 1.0, .projection = Box{0.0, 1.0}};
  const auto server = make_mu2_server<double>(options, LinearAverage{}, {5.0, 0.5}).value();
  EXPECT_THAT(*server->model(), ElementsAre(1.0, 0.5)) << "the start is projected, too";

  step(*server, {-3.0, 3.0});

  EXPECT_THAT(server->state().w, ElementsAre(1.0, 0.0));
  EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(1.0), DoubleEq(0.5 / 3)));
}

// Without a projection the iterate and the average move in one pass.
TEST(Mu2Server, TakesTheSameStepsWithAProjectionThatChangesNothing) {
  const std::vector<float> start = {0.1f, -3.0f, 1e-3f};
  const auto free = make_mu2_server<float>({.eta = 0.3}, ConstantAverage{}, start).value();
  const auto boxed =
      make_mu2_server<float>({.eta = 0.3, .projection = Box{-1e30, 1e30}}, ConstantAverage{}, start)
          .value();
  for (const float size : {1.0f, -0.7f, 1e-4f}) {
    for (auto* server : {free.get(), boxed.get()}) {
      ASSERT_TRUE(server->step(std::vector{size, 0.1f * size, -size / 3.0f}));
    }
    EXPECT_EQ(free->state(), boxed->state());
  }
}

// The factor 1, 1/2, 1/3 on eta = 1 and the direction 1: w = 0, -1, -1.5, -1.8333.
TEST(SgdServer, FollowsTheScheduleAndSendsTheIterate) {
  const StepOptions options{.eta = 1.0,
                            .schedule = [](std::uint64_t t) { return 1.0 / double(t); }};
  const auto server = make_sgd_server<double>(options, {0.0}).value();
  for (const double expected : {-1.0, -1.5, -1.5 - 1.0 / 3.0}) {
    step(*server, {1.0});
    EXPECT_THAT(*server->model(), ElementsAre(DoubleEq(expected)));
  }
  EXPECT_TRUE(server->state().x.empty());
}

std::vector<ServerOptimizerPointer<float>> float_servers(const StepOptions& options,
                                                         const std::vector<float>& start) {
  std::vector<ServerOptimizerPointer<float>> servers;
  servers.push_back(make_mu2_server(options, LinearAverage{}, start).value());
  servers.push_back(make_mu2_server(options, ConstantAverage{}, start).value());
  servers.push_back(make_sgd_server(options, start).value());
  return servers;
}

TEST(ServerOptimizer, RefusesAStepOutOfTheFiniteNumbersAndStaysAsItWas) {
  const float largest = std::numeric_limits<float>::max();
  for (const auto& server : float_servers({.eta = 3.0}, {1.0f, 2.0f})) {
    step(*server, {0.5f, -0.5f});
    const auto before = server->state();
    for (const float bad : {largest, -largest, HUGE_VALF, std::nanf("")}) {
      const auto refused = server->step(std::vector<float>{0.0f, bad});
      ASSERT_FALSE(refused.has_value()) << bad;
      EXPECT_THAT(refused.error().message, HasSubstr("step 2"));
      EXPECT_EQ(server->state(), before);
    }
    step(*server, {0.5f, -0.5f});
    EXPECT_EQ(server->version(), 2u);
  }
}

TEST(ServerOptimizer, RefusesAStepOfAScheduleThatIsNotFinite) {
  const StepOptions options{.schedule = [](std::uint64_t) { return std::nan(""); }};
  for (const auto& server : float_servers(options, {1.0f})) {
    EXPECT_FALSE(server->step(std::vector<float>{1.0f}).has_value());
    EXPECT_THAT(*server->model(), ElementsAre(1.0f));
  }
}

TEST(ServerOptimizer, GoesOnBitForBitFromARestoredState) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  const StepOptions options{.schedule = inverse_sqrt_schedule(), .projection = Ball{.radius = 2.0}};
  const auto originals = float_servers(options, {1.0f, -1.0f, 0.5f});
  const auto copies = float_servers(options, {0.0f, 0.0f, 0.0f});
  Rng rng(kSeed);
  const auto draw = [&rng] { return static_cast<float>(rng.normal()); };

  for (std::size_t i = 0; i < originals.size(); ++i) {
    for (int t = 0; t < 7; ++t) step(*originals[i], {draw(), draw(), draw()});
    ASSERT_TRUE(copies[i]->restore(originals[i]->state()).has_value());
    for (int t = 0; t < 7; ++t) {
      const std::vector<float> direction = {draw(), draw(), draw()};
      step(*originals[i], direction);
      step(*copies[i], direction);
    }
    EXPECT_EQ(copies[i]->state(), originals[i]->state());
    EXPECT_EQ(copies[i]->version(), 14u);
  }
}

TEST(ServerOptimizer, RefusesAStateOfTheWrongSizeOrNotFinite) {
  for (const auto& server : float_servers({}, {1.0f, 2.0f})) {
    const auto before = server->state();
    auto wrong_size = before;
    wrong_size.w.push_back(0.0f);
    auto wrong_average = before;
    wrong_average.x.push_back(0.0f);
    auto not_finite = before;
    not_finite.w[1] = HUGE_VALF;
    for (const auto& bad : {wrong_size, wrong_average, not_finite}) {
      EXPECT_FALSE(server->restore(bad).has_value());
      EXPECT_EQ(server->state(), before);
    }
  }
}

TEST(ServerOptimizer, RefusesOptionsOutOfRange) {
  const std::vector<float> start = {1.0f};
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(make_sgd_server(StepOptions{.eta = bad}, start).has_value()) << bad;
  }
  for (const double bad : {0.0, 1.5, std::nan("")}) {
    EXPECT_FALSE(make_mu2_server({}, ConstantAverage{bad}, start).has_value()) << bad;
  }
  EXPECT_FALSE(make_sgd_server(StepOptions{.projection = Box{1.0, 0.0}}, start).has_value());
  EXPECT_FALSE(make_sgd_server(StepOptions{.schedule = nullptr}, start).has_value());
  EXPECT_FALSE(make_sgd_server<float>({}, {}).has_value());
  EXPECT_FALSE(make_sgd_server<float>({}, {std::nanf("")}).has_value());
}

TEST(ServerOptimizerDeathTest, StopsOnADirectionOfTheWrongSize) {
  const auto server = make_sgd_server<float>({}, {1.0f, 2.0f}).value();
  EXPECT_DEATH((void)server->step(std::vector<float>{1.0f}), "wrong size");
  const auto in_doubles = make_mu2_server<double>({}, LinearAverage{}, {1.0, 2.0}).value();
  EXPECT_DEATH((void)in_doubles->step(std::vector{1.0}), "wrong size");
}

// Whoever was given a model keeps it, however many steps follow.
TEST(ServerOptimizer, AModelThatIsHeldStaysAsItWas) {
  const auto mu2 = make_mu2_server<float>({.eta = 0.5}, ConstantAverage{.gamma = 1.0}, {8.0f});
  const auto sgd = make_sgd_server<float>({.eta = 0.5}, {8.0f});
  for (ServerOptimizer<float>* const server : {mu2->get(), sgd->get()}) {
    std::vector<ServerOptimizer<float>::Model> held = {server->model()};
    for (int t = 0; t < 5; ++t) {
      step(*server, {1.0f});
      held.push_back(server->model());
    }
    for (std::size_t t = 0; t < held.size(); ++t) {
      EXPECT_THAT(*held[t], ElementsAre(8.0f - 0.5f * static_cast<float>(t)));
    }
  }
}

TEST(ServerOptimizer, AModelThatIsLetGoIsWrittenAnew) {
  const auto server = make_sgd_server<float>({}, {1.0f, 2.0f}).value();
  std::set<const float*> places;
  for (int t = 0; t < 20; ++t) {
    step(*server, {1.0f, 1.0f});
    places.insert(server->model()->data());
  }
  EXPECT_LE(places.size(), 2u);
}

// Where a table's directions, the steps and the models share one memory nothing is copied.
TEST(ServerOptimizer, StepsAlongAVectorOfAnyBackendToTheSameBits) {
  const std::vector<float> start = {0.1f, -3.0f, 1e-3f};
  const std::shared_ptr<const kernels::Backend> backends[] = {
      nullptr, kernels::make_cpu_backend(2), kernels::make_reference_backend(),
      std::make_shared<const kernels::DeviceBackend>()};
  for (const Projection& projection : {Projection(NoProjection{}), Projection(Box{-2.0, 2.0})}) {
    const auto expected = float_servers({.eta = 0.3, .projection = projection}, start);
    for (const auto& of_optimizer : backends) {
      const auto servers =
          float_servers({.eta = 0.3, .projection = projection, .backend = of_optimizer}, start);
      for (const auto& of_direction : backends) {
        if (of_direction == nullptr) continue;
        for (std::size_t i = 0; i < servers.size(); ++i) {
          ASSERT_TRUE(servers[i]->restore(expected[i]->state()));
          const std::vector<float> direction = {1.0f, -0.7f, 1e-4f};
          const auto vector = kernels::own_vector(*of_direction, direction);
          ASSERT_TRUE(servers[i]->step(*vector));
          step(*expected[i], direction);
          ASSERT_EQ(servers[i]->state(), expected[i]->state());
          ASSERT_EQ(*servers[i]->model(), *expected[i]->model());
        }
      }
    }
  }
}

TEST(ServerOptimizer, ReadsADevicesModelBackOnlyWhenAsked) {
  const auto device = std::make_shared<const kernels::DeviceBackend>();
  const auto servers = float_servers({.eta = 1.0, .backend = device}, {1.0f, 2.0f});
  const auto direction = kernels::own_vector(*device, std::vector{1.0f, 1.0f});
  std::size_t read = 0;
  for (const auto& server : servers) {
    for (int t = 0; t < 5; ++t) {
      ASSERT_TRUE(server->step(*direction));
      EXPECT_EQ(device->traffic().values_read, read);
    }
    const auto model = server->model();
    EXPECT_EQ(server->model(), model) << "the second time it is there";
    read += 2;
    EXPECT_EQ(device->traffic().values_read, read);
    const std::vector<float> held = *model;
    for (int t = 0; t < 5; ++t) ASSERT_TRUE(server->step(*direction));
    EXPECT_EQ(*model, held) << "later steps leave it alone";
    EXPECT_NE(*server->model(), held);
    std::vector<float> copy(2);
    server->read(copy);
    EXPECT_EQ(copy, *server->model());
    read += 4;
  }
}

TEST(ServerOptimizer, AModelOutlivesItsOptimizer) {
  auto server = make_sgd_server<float>({.eta = 1.0}, {1.0f}).value();
  step(*server, {1.0f});
  const auto model = server->model();
  server.reset();
  EXPECT_THAT(*model, ElementsAre(0.0f));
}

}  // namespace
}  // namespace ballast::optim
