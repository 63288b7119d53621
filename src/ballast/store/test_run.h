#pragma once
// A small run for the tests of this room: which worker sends what as number t is a function of t
// alone, so any state can be compared with that of a run that was never interrupted.

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/robust/registry.h"
#include "ballast/server/state.h"
#include "ballast/server/table_method.h"
#include "ballast/store/checksum.h"
#include "ballast/store/failpoint.h"
#include "ballast/store/store.h"

namespace ballast::store {

inline constexpr std::uint64_t kRunSeed = 5;
inline constexpr std::size_t kRunWorkers = 4;
inline constexpr std::size_t kRunDim = 50;
inline constexpr std::size_t kRunStatistics = 2;
inline constexpr std::int64_t kRunNow = 1'700'000'000;

inline RunShape run_shape() {
  return {.config = "test",
          .worker_count = kRunWorkers,
          .dim = kRunDim,
          .statistic_count = kRunStatistics};
}

inline server::ParameterServer make_run() {
  auto optimizer = optim::make_mu2_server<float>({.eta = 0.1}, optim::ConstantAverage{0.1},
                                                 std::vector<float>(kRunDim));
  auto method = server::make_table_method({.worker_count = kRunWorkers, .dim = kRunDim},
                                          robust::parse_rule("ctma(gm, 0.3)").value(),
                                          kernels::make_reference_backend());
  return server::ParameterServer::make(
             {.worker_count = kRunWorkers, .statistic_count = kRunStatistics},
             {.method = std::move(method).value(), .optimizer = std::move(optimizer).value()})
      .value();
}

// Sends update number t = accepted_count + 1 and returns what the journal notes of it.
inline JournalRecord advance(server::ParameterServer& server) {
  const std::uint64_t t = server.accepted_count() + 1;
  Rng rng({.seed = kRunSeed, .step = t});
  const auto worker = static_cast<std::uint32_t>(rng.below(kRunWorkers));
  std::vector<float> values(kRunDim), statistics(kRunStatistics);
  // The offset moves the centre of the inner products, which is then part of the state.
  for (float& value : values) value = 1.0e5f + static_cast<float>(rng.normal());
  for (float& value : statistics) value = static_cast<float>(rng.normal());
  // Some workers come back without memory, so that rows and lifetimes differ.
  const auto memory = rng.below(8) == 0 ? server::Memory::kFresh : server::Memory::kKept;
  const wire::Ticket ticket = server.on_join(worker, memory)->ticket;
  const server::Judgement judgement = server.on_update(
      {.worker = worker, .ticket = ticket, .values = values, .statistics = statistics},
      server::Instant(t));
  EXPECT_EQ(judgement.outcome.verdict, server::Verdict::kAccepted);
  return {.t = t,
          .worker = worker,
          .sequence = ticket.sequence,
          .version = ticket.version,
          .checksum = checksum_of(values),
          .verdict = judgement.outcome.verdict};
}

inline void advance_to(server::ParameterServer& server, std::uint64_t t) {
  while (server.accepted_count() < t) advance(server);
}

// All of the state that the future depends on, but for tickets and sequence numbers, which a
// rollback voids and raises.
inline std::string digest(const server::ServerStateView& state) {
  Checksum checksum;
  const auto add = [&](const auto& value) { checksum.add(std::as_bytes(std::span(&value, 1))); };
  add(state.accepted_count);
  add(state.steps);
  for (const auto vector : {state.w, state.x}) checksum.add(std::as_bytes(vector));
  for (std::size_t i = 0; i < state.senders.size(); ++i) {
    const server::SenderRecord& sender = state.senders[i];
    add(sender.staleness);
    add(sender.last_seen);
    add(sender.verdicts);
    checksum.add(std::as_bytes(state.statistics[i]));
  }
  for (const server::NamedNumbers& numbers : state.method_state.numbers) {
    checksum.add(std::as_bytes(std::span(numbers.values)));
  }
  for (const server::NamedVectorView& vector : state.method_state.vectors) {
    checksum.add(std::as_bytes(std::span(vector.name)));
    add(vector.revision);
    checksum.add(std::as_bytes(vector.values));
  }
  return checksum.text();
}

// The digest of the run that was never interrupted, after t updates. Asked with rising t.
class Reference {
 public:
  std::string digest_at(std::uint64_t t) {
    while (digests_.size() <= t) {
      if (!digests_.empty()) advance(server_);
      digests_.push_back(digest(server_.state()));
    }
    return digests_[t];
  }

 private:
  server::ParameterServer server_ = make_run();
  std::vector<std::string> digests_;
};

// How often the random tests repeat: the number, or BALLAST_STORE_ROUNDS.
inline std::uint64_t rounds(std::uint64_t usual) {
  const char* text = std::getenv("BALLAST_STORE_ROUNDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

// A folder of its own for one test, gone afterwards; in memory where there is such a file system,
// because flushing to a disk takes its time and tells these tests nothing.
class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path memory = "/dev/shm";
    const bool has_memory = ::access(memory.c_str(), W_OK) == 0;
    std::string name =
        (has_memory ? memory : std::filesystem::path(testing::TempDir())) / "ballast_store_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = name;
  }
  void TearDown() override {
    clear_failpoint();
    std::filesystem::remove_all(place_);
  }

  std::filesystem::path place() const { return place_; }
  std::filesystem::path folder() const { return place_ / "run"; }  // of the store

  Store create(const server::ParameterServer& server) const {
    return Store::create(folder(), "a run", run_shape(), server.state(), kRunNow).value();
  }

 private:
  std::filesystem::path place_;
};

}  // namespace ballast::store
