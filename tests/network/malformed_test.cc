// Malformed messages by the thousand against a live server: it does not crash, its state does not
// move, its memory stays within the budget, and the next honest worker is served.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "ballast/server/state.h"
#include "ballast/transport/memory_budget.h"
#include "tests/network/malformed_attacker.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using server::Verdict;

constexpr std::uint64_t kSeed = 5;
constexpr std::uint32_t kAttackers = 4;  // w0 to w3, at the same time

std::uint64_t message_count() { return std::getenv("BALLAST_FULL") != nullptr ? 100'000 : 2'000; }

TestSetting setting() {
  TestSetting setting{.dim = 2'000,
                      .worker_count = 8,
                      .weights = server::CappedWeights{.f = 2, .share = 0.4},
                      .rule = "ctma(cwmed, 0.4)"};
  // Little, so that what should be within it shows.
  setting.network.limits.memory_bytes_max = std::size_t{32} << 20;
  setting.network.limits.connections_max = 64;
  // The attackers keep their connections, so that each refusal can be counted.
  setting.network.limits.strange_bytes_max = std::uint64_t{1} << 40;
  setting.network.limits.models_per_worker_max = 64;
  setting.network.limits.streams_per_connection_max = 64;
  setting.network.run = "test-run";
  setting.network.schema_hash = kTestSchema;
  return setting;
}

// FNV-1a.
class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      hash_ = (hash_ ^ static_cast<std::uint64_t>(byte)) * 0x100'0000'01B3;
    }
  }
  template <typename Number>
  void add(Number number) {
    add(std::as_bytes(std::span(&number, 1)));
  }
  void add(std::span<const float> values) {
    add(values.size());
    add(std::as_bytes(values));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF2'9CE4'8422'2325;
};

// Of everything but the tallies of refused updates and the tickets, which end with their streams.
std::uint64_t state_hash(const server::ServerStateView& state) {
  Hash hash;
  for (const std::uint64_t number : {state.accepted_count, state.unknown_count, state.steps}) {
    hash.add(number);
  }
  for (const std::span<const float> values : {state.w, state.x}) hash.add(values);
  for (std::size_t i = 0; i < state.senders.size(); ++i) {
    const server::SenderRecord& sender = state.senders[i];
    for (const std::uint64_t number : {sender.lifetime_count(), sender.sequence, sender.staleness,
                                       static_cast<std::uint64_t>(sender.last_seen.count())}) {
      hash.add(number);
    }
    hash.add(state.statistics[i]);
  }
  for (const server::NamedNumbers& numbers : state.method_state.numbers) {
    for (const double number : numbers.values) hash.add(number);
  }
  for (const server::NamedVectorView& vector : state.method_state.vectors) {
    hash.add(vector.values);
  }
  return hash.value();
}

struct Sight {
  std::uint64_t hash = 0;
  std::array<std::uint64_t, server::kVerdictCount> verdicts{};
};

Sight look_at_state(NetworkServer& server) {
  Sight sight;
  server.exchange().inspect([&](const server::ParameterServer& core) {
    sight.hash = state_hash(core.state());
    for (std::uint32_t worker = 0; worker < core.worker_count(); ++worker) {
      const server::WorkerRecord record = core.worker(worker);
      for (std::size_t i = 0; i < record.verdicts.size(); ++i) {
        sight.verdicts[i] += record.verdicts[i];
      }
    }
  });
  return sight;
}

// Every worker has a row and the newest model, so that there is a state to disturb.
server::ParameterServer trained_server() {
  server::ParameterServer server = make_server(setting());
  for (std::uint32_t worker = 0; worker < setting().worker_count; ++worker) {
    const auto assignment = server.on_join(worker, server::Memory::kFresh, {});
    Values values(setting().dim);
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = static_cast<float>(worker + j);
    server.on_update({.worker = worker, .ticket = assignment->ticket, .values = values});
  }
  for (std::uint32_t worker = 0; worker < setting().worker_count; ++worker) {
    server.on_join(worker, server::Memory::kKept, {});
  }
  return server;
}

// In a process of its own: reads the port, attacks, and tells what it sent.
[[noreturn]] void attack(int port_pipe, int report_pipe) {
  std::uint16_t port = 0;
  if (read(port_pipe, &port, sizeof(port)) != sizeof(port)) _exit(1);
  std::array<AttackCounts, kAttackers> counts;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kAttackers; ++i) {
    threads.emplace_back([&, i] {
      Attacker attacker({.port = port,
                         .worker = "w" + std::to_string(i),
                         .schema_hash = kTestSchema,
                         .dim = setting().dim,
                         .seed = kSeed + i});
      for (std::uint64_t k = 0; k < message_count() / kAttackers; ++k) attacker.attack();
      counts[i] = attacker.counts();
    });
  }
  AttackCounts all;
  for (std::uint32_t i = 0; i < kAttackers; ++i) {
    threads[i].join();
    all.add(counts[i]);
  }
  _exit(write(report_pipe, &all, sizeof(all)) == sizeof(all) ? 0 : 1);
}

// What is wrong, by exit code; 0: nothing. Sanitizers have memory of their own.
int first_complaint(const AttackCounts& sent, const Sight& before, const Sight& after,
                    const NetworkCounts& counts, std::uint64_t peak, const MemoryBudget& budget) {
  if (sent.sent != message_count() || sent.unpunished > 0) return 20;
  if (after.hash != before.hash) return 21;
  for (std::size_t i = 0; i < sent.verdicts.size(); ++i) {
    if (after.verdicts[i] - before.verdicts[i] != sent.verdicts[i]) return 22;
  }
  if (counts.joins_refused != sent.joins_refused) return 23;
  if (counts.streams_refused != sent.streams_refused) return 24;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (static_cast<double>(peak) > 1.05 * static_cast<double>(budget.total())) return 25;
#endif
  return 0;
}

// Runs in a process of its own, so that its peak is that of the server.
[[noreturn]] void withstand() {
  int ports[2] = {}, reports[2] = {};
  if (pipe(ports) != 0 || pipe(reports) != 0) std::exit(10);
  const pid_t attacker = fork();
  if (attacker == 0) attack(ports[0], reports[1]);

  const MemoryBudget budget = memory_budget(
      setting().network.limits, {.worker_count = setting().worker_count}, setting().dim);
  NetworkServer server = NetworkServer::start(setting().network, trained_server(), {}).value();
  const Sight before = look_at_state(server);
  const auto begin = std::chrono::steady_clock::now();
  const std::uint16_t port = server.port();
  if (write(ports[1], &port, sizeof(port)) != sizeof(port)) std::exit(11);
  AttackCounts sent;
  if (read(reports[0], &sent, sizeof(sent)) != sizeof(sent)) std::exit(12);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  int status = 0;
  if (waitpid(attacker, &status, 0) != attacker || status != 0) std::exit(13);

  const std::uint64_t peak = resident_bytes_max();
  const Sight after = look_at_state(server);
  constexpr double kMegabyte = 1 << 20;
  std::printf(
      "malformed: %llu messages on %llu connections refused in %.1f s (%.0f per second), state "
      "hash %016llx unchanged, peak memory %.1f MiB of a budget of %.1f MiB\n",
      static_cast<unsigned long long>(sent.sent), static_cast<unsigned long long>(sent.connections),
      seconds.count(), static_cast<double>(sent.sent) / seconds.count(),
      static_cast<unsigned long long>(after.hash), static_cast<double>(peak) / kMegabyte,
      static_cast<double>(budget.total()) / kMegabyte);
  std::fflush(stdout);
  const int complaint = first_complaint(sent, before, after, server.counts(), peak, budget);
  if (complaint != 0) std::exit(complaint);

  Client honest = Client::make(client_options(server, setting(), "w5")).value();
  if (!honest.join()) std::exit(30);
  const auto pushed = honest.push(Values(setting().dim));
  if (!pushed || pushed->verdict != Verdict::kAccepted) std::exit(31);
  std::_Exit(0);
}

TEST(Malformed, ThousandsOfMessagesChangeNothing) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process without gRPC's threads
  EXPECT_EXIT(withstand(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ballast::transport
