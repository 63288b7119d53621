#include "ballast/service/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/service/work.h"

namespace ballast::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

experiment::Spec parsed(std::string_view text) {
  return experiment::parse_spec(text, "test.toml").value();
}

TEST(Plan, WorkersGetTheNewestModelUnlessTheSpecificationSaysOtherwise) {
  EXPECT_EQ(plan_run(parsed("")).value().run.reply, assembly::Reply::kNewest);
  EXPECT_EQ(plan_run(parsed("reply = \"paper\"")).value().run.reply, assembly::Reply::kPaper);
}

TEST(Plan, TheFirstSeedIsTakenAndSeveralRunsAreRefused) {
  EXPECT_EQ(plan_run(parsed("seeds = [5, 6]")).value().seed, 5u);
  EXPECT_THAT(plan_run(parsed("[grid]\neta = [0.1, 0.2]")).error().message, HasSubstr("2 runs"));
}

TEST(Plan, KeysOfTheSimulatorAreNotLookedAt) {
  const auto plain = plan_run(parsed("workers = 6")).value();
  for (const auto* text :
       {"byzantine = 0\nshare = 0.4", "share = 0.9", "byzantine = 7", "arrivals = \"trace\"",
        "attack = \"none-such\"", "[[panel]]\nlabel = \"p\"\nshare = 0.3"}) {
    const auto planned = plan_run(parsed(std::string("workers = 6\n") + text));
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_EQ(planned->run, plain.run) << text;
  }
  EXPECT_EQ(plan_run(parsed("rule = \"ctma(gm, {share})\"\nshare = 0.3")).value().run.rule,
            "ctma(gm, 0.3)");
}

TEST(Plan, WeightsAreCappedUnlessThereAreTooFewWorkersOrTheFileSaysOtherwise) {
  const auto weights = [](std::string_view text) {
    return plan_run(parsed(text)).value().run.weights;
  };
  EXPECT_EQ(weights("workers = 6"), "f-cap");  // its defaults: (1, 0.2)
  EXPECT_EQ(weights("workers = 5"), "count");
  EXPECT_EQ(weights("workers = 5\nweights = \"f-cap(1, 0.25)\""), "f-cap(share=0.25)");
  EXPECT_EQ(weights("workers = 9\nweights = \"count\""), "count");
  EXPECT_EQ(weights("workers = 9\n[[curve]]\nlabel = \"c\"\nweights = \"uniform\""), "uniform");
}

TEST(Plan, AClusterStartsTheLiarsThatTheFileAsksFor) {
  const auto liars = plan_liars(parsed("workers = 6\nbyzantine = 2\nattack = \"zero\"")).value();
  EXPECT_EQ(liars.count, 2u);
  EXPECT_EQ(liars.run.attack, "zero");
  EXPECT_FALSE(plan_liars(parsed("workers = 2\nbyzantine = 2")));
}

TEST(Plan, OnlyLengthEvaluationsDeviceAndWorkersMayChangeWhenARunGoesOn) {
  EXPECT_THAT(default_names(2), ElementsAre("worker-0", "worker-1"));
  const auto planned = plan_run(parsed("")).value();
  auto longer = planned;
  longer.run.updates *= 2;
  longer.run.evaluate_every += 1;
  longer.run.device = "reference";
  longer.run.workers += 3;
  EXPECT_EQ(configuration(longer), configuration(planned));
  auto other = planned;
  other.run.eta *= 2;
  EXPECT_NE(configuration(other), configuration(planned));
}

TEST(Plan, AWorkersNumberEndsItsName) {
  EXPECT_EQ(number_in("worker-12").value(), 12u);
  EXPECT_EQ(number_in("7").value(), 7u);
  EXPECT_FALSE(number_in("ada"));
  EXPECT_FALSE(number_in(""));
  EXPECT_FALSE(number_in("worker-99999999999"));
}

TEST(Plan, AttacksThatNeedTheHonestUpdatesAreUnsupported) {
  const auto run = plan_run(parsed("")).value().run;
  EXPECT_EQ(make_network_attack(run, "").value(), nullptr);
  EXPECT_NE(make_network_attack(run, "sign-flip").value(), nullptr);
  EXPECT_EQ(make_network_attack(run, "empire").error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace ballast::service
