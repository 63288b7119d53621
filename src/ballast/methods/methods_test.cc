// Examples worked by hand, and what the papers say of their methods, in small.

#include <gtest/gtest.h>

#include <cmath>

#include "ballast/methods/method_run_for_test.h"

namespace ballast::methods {
namespace {

using server::Verdict;

Verdict send(MethodRun& run, std::uint32_t worker, float value) {
  return run.deliver(worker, {value}).outcome.verdict;
}

std::string error_of(const std::string& text, std::size_t workers = 7) {
  const auto method = make_method(text, bowl_setting(workers, 2));
  return method ? "" : method.error().message;
}

double figure(const server::ParameterServer& server, const std::string& name) {
  for (const server::NamedNumber& number : server.method().figures()) {
    if (number.name == name) return number.value;
  }
  ADD_FAILURE() << "no figure " << name;
  return 0.0;
}

double figure(MethodRun& run, const std::string& name) { return figure(run.server(), name); }

// v = (3, 4), of length 5.
class FixedGradient final : public server::ServerGradient {
 public:
  Status gradient(std::span<const float>, std::uint64_t, std::span<float> out) override {
    ++calls;
    if (fails) return not_finite("a gradient that is not finite");
    out[0] = 3.0f;
    out[1] = 4.0f;
    return {};
  }
  int calls = 0;
  bool fails = false;
};

struct Trusted {
  std::shared_ptr<FixedGradient> gradient = std::make_shared<FixedGradient>();
  server::ParameterServer server;

  explicit Trusted(const std::string& text) : server(make(text, gradient)) { server.on_join(0); }

  static server::ParameterServer make(const std::string& text,
                                      const std::shared_ptr<FixedGradient>& gradient) {
    MethodSetting setting = bowl_setting(1, 2);
    setting.server_gradient = gradient;
    auto optimizer = optim::make_sgd_server<float>({.eta = kEta}, Floats(2)).value();
    return server::ParameterServer::make(
               {.worker_count = 1},
               {.method = make_method(text, setting).value(), .optimizer = std::move(optimizer)})
        .value();
  }

  Verdict send(const Floats& values) {
    const auto ticket = server.state().senders[0].ticket.value();
    return server.on_update({.worker = 0, .ticket = ticket, .values = values}).outcome.verdict;
  }
};

TEST(Registry, DescribesAMethodByItsCanonicalText) {
  const auto method = make_method("basgd( rule=cwtm(1/5),buffers=3 )", bowl_setting(7, 2)).value();
  EXPECT_EQ(method->description(), "basgd(3, rule=cwtm(0.2))");
  for (const auto& [text, canonical] : {std::pair("table", "table"), std::pair("table(0)", "table"),
                                        std::pair("table( past = 30 )", "table(past=30)"),
                                        std::pair("table(5)", "table(past=5)")}) {
    EXPECT_EQ(make_method(text, bowl_setting(3, 2)).value()->description(), canonical);
    EXPECT_EQ(method_registry().canonical(text).value(), canonical);
  }
}

TEST(Registry, SaysWhatIsWrong) {
  EXPECT_NE(error_of("basgt(3)").find("did you mean 'basgd'?"), std::string::npos);
  EXPECT_NE(error_of("basgd(8)").find("8 buffers for 7 workers"), std::string::npos);
  EXPECT_NE(error_of("basgd").find("buffers"), std::string::npos);
  EXPECT_NE(error_of("kardam(2)", 6).find("needs more than 6 workers"), std::string::npos);
  EXPECT_NE(error_of("throttle(1)").find("above 1"), std::string::npos);
  EXPECT_NE(error_of("table(past=0.5)").find("whole number"), std::string::npos);
  MethodSetting setting = bowl_setting(3, 2);
  setting.server_gradient = nullptr;
  EXPECT_FALSE(make_method("zeno++", setting).has_value());
  EXPECT_FALSE(make_method("aflguard", setting).has_value());
  setting.rule = "cwmed";
  EXPECT_TRUE(make_method("table", setting).has_value());
  EXPECT_FALSE(make_method("table(past=5)", setting).has_value());
}

// A server with room for newcomers: workers count, places do not.
server::ParameterServer server_with_places(const std::string& text, std::size_t workers,
                                           std::size_t free_places) {
  MethodSetting setting = bowl_setting(workers + free_places, 1);
  setting.free_places = free_places;
  server::AdmissionOptions admission{.names = {}, .free_places = free_places};
  for (std::size_t i = 0; i < workers; ++i) admission.names.push_back("w" + std::to_string(i));
  return server::ParameterServer::make(
             {.worker_count = workers + free_places, .statistic_count = 1, .admission = admission},
             {.method = make_method(text, setting).value(),
              .optimizer = optim::make_sgd_server<float>({.eta = kEta}, Floats(1)).value()})
      .value();
}

Verdict send(server::ParameterServer& server, std::uint32_t worker, float value) {
  const Floats values = {value};
  const Floats statistics = {value};
  const wire::Ticket ticket = server.on_join(worker, server::Memory::kKept)->ticket;
  return server
      .on_update({.worker = worker, .ticket = ticket, .values = values, .statistics = statistics})
      .outcome.verdict;
}

TEST(FreePlaces, AreNoWorkersToWaitForInARound) {
  auto server = server_with_places("throttle(2, 10, 10)", 2, 3);
  send(server, 0, 1.0f);  // counts 1/2, not 1/5
  EXPECT_FLOAT_EQ((*server.model().values)[0], -0.05f);
  send(server, 1, 1.0f);
  EXPECT_EQ(figure(server, "rounds"), 1.0);
  ASSERT_TRUE(server.enrol("newcomer").has_value());
  send(server, 0, 1.0f);
  send(server, 1, 1.0f);
  EXPECT_EQ(figure(server, "rounds"), 1.0) << "the newcomer is waited for";
  send(server, 2, 1.0f);
  EXPECT_EQ(figure(server, "rounds"), 2.0);
}

// As RefusesTheSteepestUpdate below: with n = 7 the filter would wait for six coefficients.
TEST(FreePlaces, DoNotSwitchTheLipschitzFilterOff) {
  auto server = server_with_places("kardam(1, none, escape=0)", 4, 3);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(send(server, i, 1.0f), Verdict::kAccepted);
  for (const auto& [worker, value] : {std::pair(0u, 1.1f), std::pair(1u, 1.4f)}) {
    EXPECT_EQ(send(server, worker, value), Verdict::kAccepted);
  }
  EXPECT_EQ(send(server, 2, 1.9f), Verdict::kAccepted);
  EXPECT_EQ(send(server, 3, 99.0f), Verdict::kFiltered);
}

TEST(FreePlaces, AreNotWorkersThatAMethodNeeds) {
  MethodSetting setting = bowl_setting(7, 1);
  setting.free_places = 4;
  EXPECT_FALSE(make_method("kardam(1)", setting).has_value());
  EXPECT_FALSE(make_method("basgd(4)", setting).has_value());
  EXPECT_TRUE(make_method("basgd(3)", setting).has_value());
}

// While nobody has a part in the model, evaluations use what the last ones said.
TEST(Statistics, AreKeptWhenTheLastWorkerLeaves) {
  auto server = server_with_places("asgd", 2, 0);
  send(server, 0, 1.0f);
  send(server, 1, 3.0f);
  server.on_leave(0);
  EXPECT_EQ(server.statistics(), Floats{3.0f});
  server.on_leave(1);
  EXPECT_EQ(server.statistics(), Floats{3.0f});
  auto resumed = server_with_places("asgd", 2, 0);
  ASSERT_TRUE(resumed.restore(server::copy(server.state())).has_value());
  EXPECT_EQ(resumed.statistics(), Floats{3.0f});
  send(resumed, 0, 7.0f);
  EXPECT_EQ(resumed.statistics(), Floats{7.0f});
}

TEST(Asgd, EveryUpdateIsAStep) {
  MethodRun run("asgd", 2, 1);
  send(run, 0, 1.0f);
  send(run, 1, -3.0f);
  EXPECT_FLOAT_EQ(run.model()[0], 0.2f);
}

TEST(DelayAdaptive, ShortensTheStepOfALateUpdate) {
  MethodRun run("delay-adaptive", 2, 1);
  for (int i = 0; i < 3; ++i) send(run, 1, 1.0f);
  send(run, 0, 3.0f);  // three versions late: 2/3 of a step
  EXPECT_FLOAT_EQ(run.model()[0], -0.5f);
  MethodRun inverse("delay-adaptive(inverse)", 2, 1);
  for (int i = 0; i < 3; ++i) send(inverse, 1, 1.0f);
  send(inverse, 0, 3.0f);
  EXPECT_FLOAT_EQ(inverse.model()[0], -0.4f);
  MethodRun drop("delay-adaptive(drop)", 2, 1);
  for (int i = 0; i < 3; ++i) send(drop, 1, 1.0f);
  EXPECT_EQ(send(drop, 0, 3.0f), Verdict::kFiltered);
}

// How far from its minimum 7.5 (x - 1)^2 is left, of curvature 15 and with steps of 1.5 / 15, when
// after every 30 updates of a fast worker one comes of a slow one. Alone either would converge, but
// the slow one corrects an error that the fast one has long removed.
double error_with_a_slow_worker(const std::string& text) {
  MethodRun run(text, 2, 1);
  for (int i = 0; i < 20 * 31; ++i) {
    const std::uint32_t worker = i % 31 == 30 ? 0 : 1;
    send(run, worker, 15.0f * ((*run.given(worker).model.values)[0] - 1.0f));
  }
  return std::abs(run.model()[0] - 1.0);
}

// What Mishchenko et al., Koloskova et al. and Cohen et al. show: with their steps the largest
// delay does not matter, where that of plain ASGD must be small against it.
TEST(Delays, ThatBreakPlainAsgdDoNotBreakTheMethodsMadeForThem) {
  EXPECT_GT(error_with_a_slow_worker("asgd"), 100.0);
  for (const char* text :
       {"delay-adaptive", "delay-adaptive(inverse)", "delay-adaptive(drop)", "picky(1e-6)"}) {
    EXPECT_LT(error_with_a_slow_worker(text), 1e-5) << text;
  }
}

TEST(Picky, RefusesWhatWasComputedFarAway) {
  MethodRun run("picky(0.25)", 2, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(send(run, 1, 1.0f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kFiltered);  // the model has moved by 0.3 since
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kAccepted);  // it got the newest in return
}

TEST(Picky, TakesWhatIsExactlyAsFarAsAllowed) {
  MethodRun run("picky(0)", 2, 1);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 1, 1.0f), Verdict::kFiltered);  // the model has moved
  EXPECT_EQ(send(run, 1, 1.0f), Verdict::kAccepted);
}

TEST(Picky, TakesALostModelForAFarOne) {
  MethodRun run("picky(100, history=2)", 2, 1);
  send(run, 1, 1.0f);
  send(run, 1, 1.0f);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kFiltered);
}

TEST(Fedbuff, StepsAlongTheMeanOfABufferAndDiscountsLateUpdates) {
  MethodRun run("fedbuff(2)", 2, 1);
  EXPECT_FALSE(run.deliver(0, {4.0f}).outcome.has_stepped);
  EXPECT_TRUE(run.deliver(1, {2.0f}).outcome.has_stepped);
  EXPECT_FLOAT_EQ(run.model()[0], -0.3f);
  send(run, 1, 1.0f);
  send(run, 0, 4.0f);  // one version late: 4 / sqrt(2)
  EXPECT_FLOAT_EQ(run.model()[0], -0.3f - 0.05f * (1.0f + 4.0f / std::sqrt(2.0f)));
}

// The paper: a larger buffer steps along a better estimate. Of noise 1 a tenth is left in the
// squares, and there are a tenth of the steps.
TEST(Fedbuff, ABufferOfTenHasATenthOfTheNoise) {
  MethodRun run("fedbuff(10)", 1, 1);
  Rng rng(3);
  constexpr int kUpdates = 20'000;
  double before = 0.0;
  double squares = 0.0;
  for (int i = 0; i < kUpdates; ++i) {
    if (!run.deliver(0, {static_cast<float>(rng.normal())}).outcome.has_stepped) continue;
    const double step = (run.model()[0] - before) / kEta;
    squares += step * step;
    before = run.model()[0];
  }
  EXPECT_EQ(run.server().model().version, kUpdates / 10u);
  EXPECT_NEAR(squares / (kUpdates / 10), 0.1, 0.01);
}

TEST(Throttle, RepeatsCountLessAndLess) {
  MethodRun run("throttle(2, 1, 2)", 2, 1);
  send(run, 0, 3.0f);  // the first: clipped to 1, counts 1/2
  EXPECT_FLOAT_EQ(run.model()[0], -0.05f);
  send(run, 0, 3.0f);  // clipped to 2, counts 1/2
  EXPECT_FLOAT_EQ(run.model()[0], -0.15f);
  send(run, 0, 3.0f);  // clipped to 2, counts 1/4
  EXPECT_FLOAT_EQ(run.model()[0], -0.2f);
  send(run, 1, -0.5f);  // the first of the other: counts 1/2, and the round is over
  EXPECT_FLOAT_EQ(run.model()[0], -0.175f);
  EXPECT_EQ(figure(run, "rounds"), 1.0);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kFiltered);  // computed before the round
  send(run, 0, 3.0f);  // clipped to 1 around (1 - 0.5) / 2: 1.25, counts 1/2
  EXPECT_FLOAT_EQ(run.model()[0], -0.2375f);
}

// The paper: in one round a worker moves the model by at most 1/n + 1/(q - 1) clipped lengths.
TEST(Throttle, BoundsWhatOneWorkerCanDoInARound) {
  MethodRun run("throttle(1.5, 1, 1)", 4, 1);
  for (int i = 0; i < 500; ++i) send(run, 0, 1000.0f);
  EXPECT_LE(-run.model()[0], kEta * (1.0 / 4 + 1.0 / 0.5) + 1e-6);
  EXPECT_GE(-run.model()[0], kEta * (1.0 / 4 + 1.0 / 0.5) - 1e-4);
}

TEST(Throttle, DoesNotWaitForAWorkerThatLeft) {
  MethodRun run("throttle", 3, 1);
  send(run, 0, 1.0f);
  send(run, 1, 1.0f);
  EXPECT_EQ(figure(run, "rounds"), 0.0);
  run.server().on_leave(2);
  EXPECT_EQ(figure(run, "rounds"), 1.0);
}

// Four workers in turn, f = 1. All send 1 on the first model, at 0. The second time they stand at
// -0.1, -0.2, -0.3 and -0.4, and what they send gives the coefficients 1, 2, 3 and 4: the third
// smallest of four is the limit.
TEST(Kardam, RefusesTheSteepestUpdate) {
  MethodRun run("kardam(1, none, escape=0)", 4, 1);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(send(run, i, 1.0f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 0, 1.1f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 1, 1.4f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 2, 1.9f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 3, 2.6f), Verdict::kFiltered);
  EXPECT_EQ(figure(run, "refused_lipschitz"), 1.0);
}

TEST(Kardam, AWorkerWaitsUntilTwoFOthersWereHeard) {
  MethodRun run("kardam(1, escape=0)", 4, 1);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kFiltered);
  EXPECT_EQ(send(run, 1, 1.0f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kFiltered);
  EXPECT_EQ(send(run, 2, 1.0f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kAccepted);
}

TEST(Kardam, EscapesAfterAsManyRefusalsAsThereAreWorkers) {
  MethodRun run("kardam(1)", 4, 1);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kAccepted);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(send(run, 0, 1.0f), Verdict::kFiltered) << i;
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kAccepted);
  EXPECT_EQ(send(run, 0, 1.0f), Verdict::kFiltered);
}

TEST(Kardam, LateUpdatesCountLess) {
  MethodRun run("kardam(0)", 3, 1);
  for (const std::uint32_t worker : {0u, 1u, 2u}) send(run, worker, 1.0f);
  EXPECT_FLOAT_EQ(run.model()[0], -0.1f * (1.0f + 1.0f / 2 + 1.0f / 3));
}

// With arrivals drawn evenly the sender is among the last 2f accepted with probability 2f/n, which
// is why the filter refuses most updates when f is large (as BASGD's authors report).
TEST(Kardam, TheFrequencyFilterRefusesTwoFOfNUpdates) {
  constexpr std::uint32_t kWorkers = 10;
  MethodRun run("kardam(3, escape=0)", kWorkers, 1);
  int by_frequency = 0;
  constexpr int kUpdates = 4000;
  Rng rng(11);
  for (int i = 0; i < kUpdates; ++i) {
    send(run, static_cast<std::uint32_t>(rng.below(kWorkers)), 1.0f);
  }
  by_frequency = static_cast<int>(figure(run, "refused_frequency"));
  const auto passed = kUpdates - static_cast<int>(figure(run, "refused_lipschitz"));
  EXPECT_NEAR(static_cast<double>(by_frequency) / passed, 0.6, 0.05);
}

TEST(Basgd, AveragesInEachBufferAndThenOverThem) {
  MethodRun run("basgd(2, mean)", 3, 1);
  EXPECT_FALSE(run.deliver(0, {2.0f}).outcome.has_stepped);
  EXPECT_FALSE(run.deliver(2, {4.0f}).outcome.has_stepped);  // shares the buffer of 0
  EXPECT_TRUE(run.deliver(1, {5.0f}).outcome.has_stepped);
  EXPECT_FLOAT_EQ(run.model()[0], -0.4f);  // ((2 + 4) / 2 + 5) / 2
}

TEST(Basgd, ReassignsTheWorkersThatWereHeard) {
  MethodRun run("basgd(2, mean, reassign=2)", 4, 1);
  for (const std::uint32_t worker : {0u, 2u, 0u}) send(run, worker, 1.0f);
  EXPECT_EQ(run.server().model().version, 0u);
  EXPECT_EQ(figure(run, "reassignments"), 1.0);
  EXPECT_TRUE(run.deliver(2, {3.0f}).outcome.has_stepped);
  EXPECT_FLOAT_EQ(run.model()[0], -0.2f);
}

// The paper: the median of B buffers withstands floor((B - 1) / 2) liars, however fast, and not one
// more.
float model_of_seven_buffers(std::uint32_t liars) {
  MethodRun run("basgd(7)", 7, 1);
  for (int i = 0; i < 700; ++i) {
    const auto worker = static_cast<std::uint32_t>(i % 10 < 7 ? i % 10 : i % 3);  // these twice
    send(run, worker, worker < liars ? 1000.0f : run.model()[0] - 1.0f);
  }
  return run.model()[0];
}

TEST(Basgd, TheMedianHoldsWhileFewerThanHalfOfTheBuffersLie) {
  EXPECT_NEAR(model_of_seven_buffers(3), 1.0f, 0.01f);
  EXPECT_LT(model_of_seven_buffers(4), -1000.0f);
}

TEST(Basgd, WithOneBufferAndTheMeanIsPlainAsgdToTheBit) {
  MethodRun buffered("basgd(1, mean)");
  MethodRun plain("asgd");
  for (int i = 0; i < 300; ++i) {
    buffered.deliver_next();
    plain.deliver_next();
    ASSERT_EQ(buffered.model(), plain.model()) << i;
  }
}

// Without delays the control methods are plain ASGD.
TEST(Controls, OfASingleWorkerArePlainAsgdToTheBit) {
  for (const char* text : {"delay-adaptive", "fedbuff(1)", "picky(1)", "kardam(0)"}) {
    MethodRun run(text, 1);
    MethodRun plain("asgd", 1);
    for (int i = 0; i < 50; ++i) {
      run.deliver_next();
      plain.deliver_next();
      ASSERT_EQ(run.model(), plain.model()) << text << " " << i;
    }
  }
}

TEST(ZenoPlusPlus, GivesAnUpdateTheLengthOfItsOwnGradientAndScoresIt) {
  Trusted trusted("zeno++(rho=0)");
  EXPECT_EQ(trusted.send({0.0f, 1.0f}), Verdict::kAccepted);
  EXPECT_FLOAT_EQ((*trusted.server.model().values)[1], -0.5f);
  EXPECT_EQ(trusted.send({0.0f, -1.0f}), Verdict::kFiltered);
  EXPECT_EQ(trusted.send({0.0f, 0.0f}), Verdict::kFiltered);
  EXPECT_EQ(trusted.send({4.0f, -3.0f}), Verdict::kAccepted);  // a score of 0, and 0 is asked
  // 0.1 * 20 - 0.1 * 25 = -0.5, and -0.1 * 6 = -0.6.
  EXPECT_EQ(Trusted("zeno++(rho=0.1)").send({0.0f, 1.0f}), Verdict::kFiltered);
  EXPECT_EQ(Trusted("zeno++(rho=0.1, epsilon=6)").send({0.0f, 1.0f}), Verdict::kAccepted);
}

TEST(ZenoPlusPlus, ComputesItsGradientEverySoManyVersions) {
  Trusted trusted("zeno++(every=3)");
  for (int i = 0; i < 7; ++i) trusted.send({3.0f, 4.0f});
  EXPECT_EQ(trusted.gradient->calls, 3);  // at versions 0, 3 and 6
  for (int i = 0; i < 3; ++i) trusted.send({-3.0f, -4.0f});
  EXPECT_EQ(trusted.gradient->calls, 3);
  trusted.send({-3.0f, -4.0f});  // after three refusals in a row
  EXPECT_EQ(trusted.gradient->calls, 4);
}

TEST(ZenoPlusPlus, WithoutAGradientOfItsOwnRefusesAndKeepsAnOldOne) {
  Trusted trusted("zeno++(every=1)");
  trusted.gradient->fails = true;
  EXPECT_EQ(trusted.send({3.0f, 4.0f}), Verdict::kFiltered);
  trusted.gradient->fails = false;
  EXPECT_EQ(trusted.send({3.0f, 4.0f}), Verdict::kAccepted);
  trusted.gradient->fails = true;
  EXPECT_EQ(trusted.send({3.0f, 4.0f}), Verdict::kAccepted);
}

// The ball around (3, 4) of radius 5.
TEST(Aflguard, AcceptsABallAroundItsOwnGradient) {
  Trusted trusted("aflguard(radius=1)");
  EXPECT_EQ(trusted.send({3.0f, 8.0f}), Verdict::kAccepted);
  EXPECT_EQ(trusted.send({3.0f, -2.0f}), Verdict::kFiltered);
  EXPECT_EQ(trusted.send({-3.0f, -4.0f}), Verdict::kFiltered);
}

// The papers of both: no update that points away from the server's gradient is applied.
TEST(TrustedGradients, KeepTheLiarOut) {
  for (const char* text : {"zeno++(every=1)", "aflguard(0.9, every=1)"}) {
    MethodRun run(text);
    std::uint64_t honest = 0;
    std::uint64_t lies = 0;
    for (int i = 0; i < 20; ++i) {  // far from the optimum, where gradients are no noise yet
      const Delivery delivery = run.deliver_next();
      if (delivery.outcome.verdict != Verdict::kAccepted) continue;
      ++(delivery.worker == 0 ? lies : honest);
    }
    EXPECT_GT(honest, 5u) << text;
    EXPECT_EQ(lies, 0u) << text;
  }
}

}  // namespace
}  // namespace ballast::methods
