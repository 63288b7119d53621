#include "ballast/transport/model_loans.h"

#include <gtest/gtest.h>

#include "ballast/transport/test_sockets.h"

namespace ballast::transport {
namespace {

using std::chrono::seconds;

class Lending : public testing::Test {
 protected:
  std::shared_ptr<ModelLoans::Loan> lend(std::uint32_t worker, SocketPair& pair) {
    if (!guard.find("127.0.0.1", pair.port())) guard.watch(pair.ours(), now);
    const server::Snapshot model{.version = 1,
                                 .values = std::make_shared<std::vector<float>>(3, 1.0f)};
    return loans.lend(worker, model, guard.find("127.0.0.1", pair.port()));
  }

  ConnectionGuard guard{GuardLimits{}};
  ModelLoans loans{2, 2, guard};
  SocketPair first, second, third;
  ModelLoans::Time now{seconds(1'000'000)};
};

TEST_F(Lending, AThirdModelCostsTheConnectionThatHasHadOneForLongest) {
  const auto a = lend(0, first), b = lend(0, second);
  EXPECT_FALSE(first.is_ended());
  const auto c = lend(0, third);
  EXPECT_TRUE(first.is_ended());
  EXPECT_FALSE(second.is_ended());
  EXPECT_FALSE(third.is_ended());
  EXPECT_EQ(guard.counts().ended_models, 1u);
  EXPECT_EQ(a->values().size(), 3u);  // until gRPC gives it back
}

TEST_F(Lending, WhatCameBackCountsNoMore) {
  for (int i = 0; i < 10; ++i) {
    auto a = lend(0, first);
    const auto b = lend(0, second);
    a.reset();
    lend(0, third);
  }
  EXPECT_EQ(guard.counts().ended(), 0u);
}

TEST_F(Lending, WorkersDoNotPayForEachOther) {
  const auto a = lend(0, first), b = lend(0, first), c = lend(1, second), d = lend(1, second);
  EXPECT_EQ(guard.counts().ended(), 0u);
}

TEST_F(Lending, ModelsOfStreamsThatAreOverAreRecalled) {
  const auto a = lend(0, first), b = lend(0, second);
  loans.set_over(*a, now);
  loans.recall(now - seconds(1));
  EXPECT_FALSE(first.is_ended());
  loans.recall(now);
  EXPECT_TRUE(first.is_ended());
  EXPECT_FALSE(second.is_ended());  // its stream goes on
}

}  // namespace
}  // namespace ballast::transport
