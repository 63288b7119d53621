#include "ballast/store/store.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <fstream>
#include <span>
#include <string>

#include "ballast/files/test_support.h"
#include "ballast/store/generation.h"
#include "ballast/store/inspect.h"
#include "ballast/store/test_run.h"

namespace ballast::store {
namespace {

using files::refusal;

class StoreTest : public RunFolderTest {
 protected:
  // A store with generations at t = 0 and at each of the given numbers.
  void save_at(std::initializer_list<std::uint64_t> moments) const {
    auto server = make_run();
    Store store = create(server);
    for (const std::uint64_t t : moments) {
      while (server.accepted_count() < t) {
        const JournalRecord record = advance(server);
        ASSERT_TRUE(store.append({&record, 1}).has_value());
      }
      ASSERT_TRUE(store.save(server.state(), kRunNow).has_value());
    }
  }

  ino_t inode(std::uint64_t generation, std::size_t worker) const {
    struct stat facts = {};
    const auto path = folder() / ("gen-" + std::to_string(generation)) /
                      ("method-row-" + std::to_string(worker) + ".bin");
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return facts.st_ino;
  }
};

TEST_F(StoreTest, AResumedServerGoesOnAsIfNothingHadHappened) {
  Reference reference;
  save_at({7, 20, 33});
  auto resumed = Store::resume(folder(), run_shape()).value();
  auto server = make_run();
  ASSERT_TRUE(server.restore(std::move(resumed.state)).has_value());
  EXPECT_EQ(resumed.generation, 4u);
  EXPECT_TRUE(resumed.damages.empty());
  EXPECT_EQ(digest(server.state()), reference.digest_at(33));
  EXPECT_EQ(server.state().method_state.vectors.front().name, "centre");
  advance_to(server, 80);
  EXPECT_EQ(digest(server.state()), reference.digest_at(80));
}

TEST_F(StoreTest, TheStateBeforeTheFirstUpdateCanBeResumed) {
  save_at({});
  auto resumed = Store::resume(folder(), run_shape()).value();
  auto server = make_run();
  ASSERT_TRUE(server.restore(std::move(resumed.state)).has_value());
  EXPECT_EQ(server.accepted_count(), 0u);
}

TEST_F(StoreTest, TwoGenerationsAreKept) {
  save_at({1, 2, 3, 4, 5});
  EXPECT_EQ(list_generations(folder()).value(), (std::vector<std::uint64_t>{6, 5}));
}

TEST_F(StoreTest, VectorsThatDidNotChangeAreNotWrittenAgain) {
  auto server = make_run();
  Store store = create(server);
  advance_to(server, 30);
  ASSERT_TRUE(store.save(server.state(), kRunNow).has_value());
  const auto second = store.save(server.state(), kRunNow).value();
  EXPECT_EQ(second.files_linked, 0u);  // a copy of its own, not the previous generation's
  const auto third = store.save(server.state(), kRunNow).value();
  const std::size_t vectors = 3 + 2 * kRunWorkers;  // w, x, centre; rows and statistics
  EXPECT_EQ(third.files_linked, vectors);
  EXPECT_EQ(third.files_written, 1u);  // the manifest

  const JournalRecord record = advance(server);
  for (int turn = 0; turn < 2; ++turn) {
    const auto report = store.save(server.state(), kRunNow).value();
    EXPECT_EQ(report.files_linked, vectors - 5) << "turn " << turn << " " << record.worker;
  }
  EXPECT_EQ(store.save(server.state(), kRunNow).value().files_linked, vectors);
}

// They change when rows go, without an update that would give them a new number.
TEST_F(StoreTest, TheStatisticsOfAPauseAreThoseOfTheNewestOne) {
  auto server = make_run();
  advance_to(server, 30);
  for (std::uint32_t worker = 0; worker < kRunWorkers; ++worker) server.on_leave(worker);
  {
    Store store = create(server);
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_TRUE(store.save(server.state(), kRunNow).has_value());
    }
    server::ServerState state = copy(server.state());
    ASSERT_EQ(state.last_statistics.size(), kRunStatistics);
    state.last_statistics = {1.0f, 2.0f};
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_TRUE(store.save(state.view(), kRunNow).has_value());
    }
  }
  const auto resumed = Store::resume(folder(), run_shape());
  EXPECT_EQ(resumed->state.last_statistics, (std::vector{1.0f, 2.0f}));
}

TEST_F(StoreTest, TheTwoGenerationsShareNoFile) {
  auto server = make_run();
  Store store = create(server);
  advance_to(server, 30);
  for (std::uint64_t generation = 2; generation < 8; ++generation) {
    ASSERT_TRUE(store.save(server.state(), kRunNow).has_value());
    if (generation == 2) continue;
    for (std::size_t worker = 0; worker < kRunWorkers; ++worker) {
      EXPECT_NE(inode(generation, worker), inode(generation - 1, worker));
    }
    advance(server);
  }
}

TEST_F(StoreTest, EveryResumeBeginsANewIncarnation) {
  save_at({3});
  for (std::uint64_t life = 2; life < 5; ++life) {
    const auto resumed = Store::resume(folder(), run_shape()).value();
    EXPECT_EQ(resumed.store.incarnation(), life);
    EXPECT_EQ(resumed.store.run(), "a run");
  }
}

// Acknowledged after the checkpoint and lost in the crash: the state does not hold it any more, and
// it is refused when it comes again.
TEST_F(StoreTest, AnAcknowledgedUpdateIsNeverAcceptedAgain) {
  auto server = make_run();
  JournalRecord lost;
  {
    Store store = create(server);
    lost = advance(server);
    ASSERT_TRUE(store.append({&lost, 1}).has_value());
  }
  auto resumed = Store::resume(folder(), run_shape()).value();
  auto restored = make_run();
  ASSERT_TRUE(restored.restore(std::move(resumed.state)).has_value());
  EXPECT_EQ(restored.accepted_count(), 0u);
  const std::vector<float> values(kRunDim), statistics(kRunStatistics);
  const auto send = [&](const wire::Ticket& ticket) {
    return restored
        .on_update(
            {.worker = lost.worker, .ticket = ticket, .values = values, .statistics = statistics})
        .outcome.verdict;
  };
  const wire::Ticket fresh = restored.on_join(lost.worker)->ticket;
  EXPECT_GT(fresh.sequence, lost.sequence);
  wire::Ticket old = fresh;
  old.sequence = lost.sequence;
  EXPECT_EQ(send(old), server::Verdict::kReplayed);
  EXPECT_EQ(send(restored.on_join(lost.worker)->ticket), server::Verdict::kAccepted);
}

// From the older generation on, the journal names every update, in order, up to the newest.
TEST_F(StoreTest, TheJournalReachesBackToTheOlderGeneration) {
  save_at({5, 9, 14});
  const auto resumed = Store::resume(folder(), run_shape()).value();
  const auto records = resumed.store.journal().records().value();
  ASSERT_EQ(records.size(), 5u);
  for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].t, 10 + i);
}

// The definition in docs/durable-state.md, also across a crash: the records of the life that was
// lost stand between those of the next one and its start.
TEST_F(StoreTest, TheNewerGenerationIsTheOlderOneAndTheJournal) {
  save_at({5, 9});
  {
    auto lost = Store::resume(folder(), run_shape()).value();
    auto server = make_run();
    ASSERT_TRUE(server.restore(std::move(lost.state)).has_value());
    const JournalRecord record = advance(server);
    ASSERT_TRUE(lost.store.append({&record, 1}).has_value());
  }
  auto resumed = Store::resume(folder(), run_shape()).value();
  auto server = make_run();
  ASSERT_TRUE(server.restore(server::copy(resumed.state.view())).has_value());
  for (int i = 0; i < 4; ++i) {
    const JournalRecord record = advance(server);
    ASSERT_TRUE(resumed.store.append({&record, 1}).has_value());
  }
  ASSERT_TRUE(resumed.store.save(server.state(), kRunNow).has_value());

  const Manifest older = read_manifest(folder(), 3).value();
  const Manifest newer = read_manifest(folder(), 4).value();
  server::ServerState start = read_state(folder(), older).value();
  for (std::size_t i = 0; i < kRunWorkers; ++i) {
    start.senders[i].sequence = resumed.state.senders[i].sequence;
  }
  auto replay = make_run();
  ASSERT_TRUE(replay.restore(std::move(start)).has_value());
  const auto records = resumed.store.journal().records(older.journal_position).value();
  EXPECT_EQ(records.size(), 5u);
  for (JournalRecord record : records) {
    if (record.incarnation != newer.incarnation) continue;
    record.position = record.incarnation = 0;
    EXPECT_EQ(advance(replay), record);
  }
  EXPECT_EQ(digest(replay.state()), digest(read_state(folder(), newer).value().view()));
}

TEST_F(StoreTest, OneProcessWritesAtATime) {
  auto server = make_run();
  const Store store = create(server);
  EXPECT_NE(refusal(Store::resume(folder(), run_shape())).find("another process"),
            std::string::npos);
}

TEST_F(StoreTest, AFolderWithACheckpointIsNotOverwritten) {
  save_at({});
  const auto refused = Store::create(folder(), "b", run_shape(), make_run().state(), kRunNow);
  EXPECT_NE(refusal(refused).find("resume from it"), std::string::npos);
}

TEST_F(StoreTest, AnotherConfigurationIsRefused) {
  save_at({4});
  const auto message = [&](auto change) {
    RunShape shape = run_shape();
    change(shape);
    return refusal(Store::resume(folder(), shape));
  };
  EXPECT_EQ(message([](RunShape& shape) { shape.worker_count = 3; }),
            "the checkpoint has 4 workers, this server 3; start it with the settings of the run");
  EXPECT_NE(message([](RunShape& shape) { shape.dim = 9; }).find("50 parameters"),
            std::string::npos);
  EXPECT_NE(message([](RunShape& shape) { shape.config = "x"; }).find("configuration test"),
            std::string::npos);
}

// The checkpoint knows nothing of a worker that came after it; the journal does.
TEST_F(StoreTest, AnAcknowledgementOfAWorkerThatIsNewerThanTheCheckpointIsRemembered) {
  const server::ParameterServer server = make_run();
  ASSERT_TRUE(Store::create(folder(), "run", run_shape(), server.state(), kRunNow));
  RunShape more = run_shape();
  more.worker_count = kRunWorkers + 1;
  {
    auto resumed = Store::resume(folder(), more).value();
    const JournalRecord record{.t = 1, .worker = kRunWorkers, .sequence = 7};
    ASSERT_TRUE(resumed.store.append(std::span(&record, 1)));
  }
  const auto resumed = Store::resume(folder(), more).value();
  ASSERT_EQ(resumed.state.senders.size(), kRunWorkers + 1);
  EXPECT_EQ(resumed.state.senders[kRunWorkers].sequence, 7u);
}

TEST_F(StoreTest, ACheckpointOfAnotherVersionIsNotCalledDamaged) {
  save_at({4});
  const auto path = generation_folder(folder(), 2) / "manifest.json";
  std::string text;
  std::getline(std::ifstream(path), text, '\0');
  const std::size_t start = text.find("checkpoint\":") + 12;
  std::string body = text.substr(start, text.size() - start - 2);
  body.replace(body.find("\"format\":2"), 10, "\"format\":1");
  std::ofstream(path) << "{\"xxh3\":\"" << checksum_text(std::as_bytes(std::span(body)))
                      << "\",\n\"checkpoint\":" << body << "}\n";
  const std::string message = refusal(Store::resume(folder(), run_shape()));
  EXPECT_NE(message.find("has format 1; this program reads format 2"), std::string::npos);
  EXPECT_EQ(message.find("intact"), std::string::npos);
  EXPECT_EQ(refusal(read_newest(folder())), message);
}

TEST_F(StoreTest, TheEnrolledComeBackWithTheirNumbers) {
  const std::vector<EnrolledWorker> workers = {{"a", "pem\n"}, {"b", ""}};
  {
    auto server = make_run();
    auto store = Store::create(folder(), "run", run_shape(), server.state(), kRunNow,
                               operating_system(), workers)
                     .value();
    EXPECT_FALSE(store.set_workers({{"a", ""}, {"a", ""}}));
    EXPECT_FALSE(store.set_workers(std::vector<EnrolledWorker>(kRunWorkers + 1)));
  }
  EXPECT_EQ(Store::resume(folder(), run_shape())->workers, workers);
  EXPECT_EQ(read_newest_manifest(folder())->workers, workers);
}

TEST_F(StoreTest, AFolderWithoutACheckpointIsRefused) {
  EXPECT_NE(refusal(Store::resume(place() / "none", run_shape())).find("No such file"),
            std::string::npos);
  std::filesystem::create_directory(place() / "empty");
  EXPECT_NE(refusal(Store::resume(place() / "empty", run_shape())).find("holds no checkpoint"),
            std::string::npos);
}

TEST_F(StoreTest, ARunWithAnUnprintableNameIsRefused) {
  const auto state = make_run();
  EXPECT_NE(refusal(Store::create(folder(), "a\nb", run_shape(), state.state(), kRunNow))
                .find("printable"),
            std::string::npos);
}

}  // namespace
}  // namespace ballast::store
