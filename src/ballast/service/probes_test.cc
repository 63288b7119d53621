#include "ballast/service/probes.h"

#include <gtest/gtest.h>

namespace ballast::service {
namespace {

int code(std::string_view path, const Health& health) { return probe(path, health)->code; }

// A server that nobody has joined yet must be ready, or no worker would ever be sent to it.
TEST(Probes, AServerThatWaitsForItsWorkersIsReadyButNotHealthy) {
  const Health waiting{.is_acknowledging = true};
  EXPECT_EQ(code("/livez", waiting), 200);
  EXPECT_EQ(code("/readyz", waiting), 200);
  EXPECT_EQ(code("/healthz", waiting), 503);
}

TEST(Probes, ATrainingServerIsAllThree) {
  const Health training{.is_acknowledging = true, .is_stepping = true};
  for (const auto* path : {"/livez", "/readyz", "/healthz"}) EXPECT_EQ(code(path, training), 200);
}

// Starting it again would not help, so it is alive; but workers cannot be served.
TEST(Probes, AServerThatWaitsForItsDiskIsAliveAndNeitherReadyNorHealthy) {
  const Health stuck{.is_acknowledging = false, .is_stepping = false};
  EXPECT_EQ(code("/livez", stuck), 200);
  EXPECT_EQ(code("/readyz", stuck), 503);
  EXPECT_EQ(code("/healthz", stuck), 503);
}

TEST(Probes, AServerThatEndsTakesNoMoreWorkers) {
  const Health over{.is_acknowledging = true, .is_stepping = true, .is_over = true};
  EXPECT_EQ(code("/livez", over), 200);
  EXPECT_EQ(code("/readyz", over), 503);
  EXPECT_EQ(code("/healthz", over), 503);
}

TEST(Probes, OtherPathsAreNobodysQuestion) { EXPECT_FALSE(probe("/status", {})); }

}  // namespace
}  // namespace ballast::service
