#include "ballast/service/server_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::service {
namespace {

using testing::HasSubstr;

ServerStatus example() {
  ServerStatus status{.run = "a \"run\"",
                      .version = 7,
                      .accepted = 9,
                      .updates = 100,
                      .pause_reason = "1 of 3 rows",
                      .evaluation = LastEvaluation{8, 0.75, 0.5}};
  WorkerStatus worker{
      .name = "worker-0", .state = "held", .count = 9, .kept = 0.25, .distance = 1.5};
  worker.verdicts[static_cast<std::size_t>(server::Verdict::kAccepted)] = 9;
  worker.verdicts[static_cast<std::size_t>(server::Verdict::kNotFinite)] = 2;
  status.workers.push_back(worker);
  return status;
}

TEST(ServerStatus, StatusNamesVerdictsAndLeavesOutThoseThatNeverCame) {
  const auto json = nlohmann::json::parse(status_json(example()));
  EXPECT_EQ(json["run"], "a \"run\"");
  EXPECT_EQ(json["paused"], "1 of 3 rows");
  EXPECT_EQ(json["evaluation"]["accuracy"], 0.75);
  const auto& worker = json["workers"][0];
  EXPECT_EQ(worker["trimmed_share"], 0.75);
  EXPECT_EQ(worker["distance"], 1.5);
  EXPECT_EQ(worker["verdicts"], nlohmann::json({{"accepted", 9}, {"not-finite", 2}}));
}

TEST(ServerStatus, MetricsDeclareEachNameOnceBeforeItsValues) {
  const std::string text = metrics_text(example());
  EXPECT_THAT(text, HasSubstr("# TYPE ballast_model_version gauge\nballast_model_version 7\n"));
  EXPECT_THAT(text, HasSubstr("\nballast_is_stepping 0\n"));
  EXPECT_THAT(text,
              HasSubstr("ballast_verdicts_total{worker=\"worker-0\",verdict=\"not-finite\"} 2\n"));
  EXPECT_EQ(text.find("# TYPE ballast_verdicts_total"),
            text.rfind("# TYPE ballast_verdicts_total"));
}

TEST(ServerStatus, EndedConnectionsAreCountedByLimit) {
  ServerStatus status = example();
  status.network.guard = {.ended_calls = 1, .ended_strange = 20, .ended_unread = 300};
  EXPECT_NE(status_json(status).find(R"("connections_ended":321)"), std::string::npos);
  const std::string text = metrics_text(status);
  for (const char* line :
       {R"({limit="calls"} 1)", R"({limit="strange"} 20)", R"({limit="unread"} 300)"}) {
    EXPECT_NE(text.find(std::string("ballast_connections_ended_total") + line), text.npos) << line;
  }
}

TEST(ServerStatus, WithoutAnEvaluationThereIsNoAccuracy) {
  ServerStatus status = example();
  status.evaluation.reset();
  EXPECT_TRUE(nlohmann::json::parse(status_json(status))["evaluation"].is_null());
  EXPECT_EQ(metrics_text(status).find("test_accuracy"), std::string::npos);
}

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
