#include <gtest/gtest.h>

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/service/checkpoint_writer.h"
#include "ballast/simulate/disk.h"
#include "ballast/simulate/server_life.h"
#include "ballast/simulate/simulation.h"

namespace ballast::simulate {
namespace {

class LossTest : public testing::Test {
 protected:
  server::ParameterServer make_server() const {
    return make_simulated_server(scenario_, {}, {}).value();
  }

  service::CheckpointWriter open(server::ParameterServer& server, bool is_resume,
                                 std::vector<store::EnrolledWorker> workers = {}) {
    return service::CheckpointWriter::open(
               {.folder = kStateFolder,
                .is_resume = is_resume,
                .policy = {.every_updates = 100},
                .run = "loss",
                .configuration = kConfiguration,
                .workers = std::move(workers),
                .clock = [] { return std::chrono::sys_seconds(std::chrono::seconds(1)); },
                .disk = &disk_},
               server)
        .value();
  }

  // Updates that are acknowledged and in no checkpoint.
  static void acknowledge(service::CheckpointWriter& writer, server::ParameterServer& server,
                          int count) {
    const std::vector<float> values(server.dim(), 1.0f);
    for (int i = 0; i < count; ++i) {
      const wire::Ticket ticket = server.on_join(0, server::Memory::kKept)->ticket;
      const auto judged = server.on_update({.worker = 0, .ticket = ticket, .values = values});
      ASSERT_TRUE(writer.journal(server.accepted_count(), {.worker = 0,
                                                           .ticket = ticket,
                                                           .outcome = judged.outcome,
                                                           .values = values,
                                                           .statistics = {}}));
    }
  }

  std::uint64_t lost_at_resume(int acknowledged_after = 0) {
    server::ParameterServer server = make_server();
    auto writer = open(server, true);
    acknowledge(writer, server, acknowledged_after);
    return writer.resumed()->lost;
  }

  Scenario scenario_{.workers = 3, .dim = 4, .rule = "mean"};
  Disk disk_;
};

TEST_F(LossTest, IsToldAlsoAfterAResumeThatCameToNothing) {
  {
    server::ParameterServer server = make_server();
    auto writer = open(server, false);
    acknowledge(writer, server, 3);
  }
  EXPECT_EQ(lost_at_resume(), 3u);
  EXPECT_EQ(lost_at_resume(), 3u);  // the one before died, for all we know, before it could tell
  EXPECT_EQ(lost_at_resume(2), 3u);
  EXPECT_EQ(lost_at_resume(), 2u);  // of the life before, not of all that ever was
}

// The newest checkpoint knows that worker 0 was revoked. It is damaged, and the one before brings
// back the row of the certificate that is on the deny list by now.
TEST_F(LossTest, CertificatesAreThoseOfTheRestoredRows) {
  const std::vector<store::EnrolledWorker> workers = {{"a", ""}, {"b", ""}, {"c", ""}};
  {
    server::ParameterServer server = make_server();
    auto writer = open(server, false, workers);
    writer.note_certificate(0, "old");
    acknowledge(writer, server, 1);
    ASSERT_TRUE(writer.save(server));
    writer.note_certificate(0, "");
    acknowledge(writer, server, 1);
    ASSERT_TRUE(writer.save(server));
    Rng rng({.seed = 1});
    ASSERT_TRUE(disk_.damage(fmt::format("{}/gen-{}", kStateFolder, writer.generation()), rng));
  }
  server::ParameterServer server = make_server();
  const auto writer = open(server, true, workers);
  ASSERT_EQ(writer.resumed()->accepted, 1u);
  EXPECT_EQ(writer.workers()[0].certificate, "old");
}

// Each broke a promise once, when the table was all that was drawn.
TEST(Simulation, HoldsForTheSeedsThatFoundDefects) {
  for (const std::uint64_t seed : {935, 4164, 4338, 1794836469, 1794842927}) {
    const SimulationReport report = simulate({.seed = seed, .events = 2000, .method = kTable});
    EXPECT_FALSE(report.violation.has_value()) << seed << ": " << report.violation->message;
  }
}

}  // namespace
}  // namespace ballast::simulate
