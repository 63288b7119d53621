// kill -9 at random instants and at every failpoint: what is found afterwards is always a state of
// the run that was never interrupted, no older than the last checkpoint that was acknowledged.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "ballast/store/failpoint.h"
#include "ballast/store/inspect.h"
#include "ballast/store/store.h"
#include "ballast/store/test_run.h"

namespace ballast::store {
namespace {

constexpr std::uint64_t kSaveEvery = 3;
constexpr std::uint64_t kGroup = 2;  // updates that share a transaction of the journal

// What the process that is killed has promised, in memory that survives it.
struct Promises {
  std::atomic<std::uint64_t> saved_t = 0;  // a save() of this t returned
  std::atomic<std::uint64_t> acknowledged_t = 0;
  std::atomic<std::uint64_t> incarnation = 0;
};

class CrashTest : public RunFolderTest {
 protected:
  void SetUp() override {
    RunFolderTest::SetUp();
    void* memory = ::mmap(nullptr, sizeof(Promises), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    promises_ = new (memory) Promises;
    const auto server = make_run();
    const Store store = create(server);
  }
  void TearDown() override {
    ::munmap(promises_, sizeof(Promises));
    RunFolderTest::TearDown();
  }

  // A server that resumes and goes on until it is killed or has taken `updates` updates.
  void serve(std::uint64_t updates) {
    auto resumed = Store::resume(folder(), run_shape());
    auto server = make_run();
    if (!resumed || !server.restore(std::move(resumed->state))) ::_exit(3);
    Store& store = resumed->store;
    // In this order, or a death in between would leave an earlier life's promises to this one.
    promises_->acknowledged_t = promises_->saved_t = server.accepted_count();
    promises_->incarnation = store.incarnation();
    std::vector<JournalRecord> group;
    for (std::uint64_t update = 1; update <= updates; ++update) {
      group.push_back(advance(server));
      if (group.size() < kGroup) continue;
      if (!store.append(group)) ::_exit(4);
      group.clear();
      promises_->acknowledged_t = server.accepted_count();
      if (server.accepted_count() < promises_->saved_t + kSaveEvery) continue;
      if (!store.save(server.state(), kRunNow)) ::_exit(5);
      promises_->saved_t = server.accepted_count();
    }
  }

  // Runs the server in a process of its own, and kills it after a while unless that is 0.
  int run_and_kill(std::uint64_t updates, unsigned microseconds) {
    const pid_t child = ::fork();
    if (child == 0) {
      serve(updates);
      ::_exit(0);
    }
    if (microseconds > 0) {
      ::usleep(microseconds);
      ::kill(child, SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  // The state that is found is one of the reference; what was promised is there.
  void expect_kept_promises() {
    auto resumed = Store::resume(folder(), run_shape());
    ASSERT_TRUE(resumed.has_value()) << resumed.error().message;
    EXPECT_TRUE(resumed->damages.empty());
    const std::uint64_t t = resumed->state.accepted_count;
    EXPECT_GE(t, promises_->saved_t);
    EXPECT_EQ(digest(resumed->state.view()), reference_.digest_at(t));
    EXPECT_GT(resumed->store.incarnation(), promises_->incarnation);
    expect_journal(*resumed);
  }

  // The journal holds each acknowledged update after the checkpoint, with the values of the
  // reference, and the restored state refuses all of them.
  void expect_journal(const Resumed& resumed) {
    std::uint64_t last_t = resumed.state.accepted_count;
    const auto records = resumed.store.journal().records().value();
    for (const JournalRecord& record : records) {
      if (record.incarnation != promises_->incarnation) continue;
      EXPECT_EQ(record.checksum, checksum_at(record.t));
      last_t = std::max(last_t, record.t);
      EXPECT_GE(resumed.state.senders[record.worker].sequence, record.sequence);
    }
    EXPECT_GE(last_t, promises_->acknowledged_t);
  }

  std::uint64_t checksum_at(std::uint64_t t) {
    while (checksums_.size() < t) checksums_.push_back(advance(replay_).checksum);
    return checksums_[t - 1];
  }

  Promises* promises_ = nullptr;
  Reference reference_;
  server::ParameterServer replay_ = make_run();
  std::vector<std::uint64_t> checksums_;
};

TEST_F(CrashTest, AtAnyInstantLeavesAStateOfTheRun) {
  Rng rng({.seed = kRunSeed, .purpose = 3});
  std::uint64_t killed_count = 0;
  for (std::uint64_t round = 0; round < rounds(200); ++round) {
    const auto microseconds = static_cast<unsigned>(1 + rng.below(20'000));
    SCOPED_TRACE("round " + std::to_string(round) + " killed after " +
                 std::to_string(microseconds) + " us");
    const int status = run_and_kill(UINT64_MAX, microseconds);
    killed_count += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    expect_kept_promises();
    if (HasFailure()) return;
  }
  EXPECT_EQ(killed_count, rounds(200));
  EXPECT_GT(promises_->saved_t, 0u);
}

TEST_F(CrashTest, AtEveryFailpointLeavesAStateOfTheRun) {
  for (const std::string_view name : failpoint_names()) {
    for (const std::uint64_t hit : {1, 2, 3}) {
      SCOPED_TRACE(std::string(name) + " hit " + std::to_string(hit));
      set_failpoint({.name = std::string(name), .hit = hit});
      const int status = run_and_kill(60, 0);
      clear_failpoint();
      const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      // A resume opens the journal once and no more.
      EXPECT_EQ(is_killed, name != "journal-open" || hit == 1);
      expect_kept_promises();
      if (HasFailure()) return;
    }
  }
}

// The same for every single call of a run that saves three times.
TEST_F(CrashTest, AtEveryCallLeavesAStateOfTheRun) {
  bool is_killed = true;
  for (std::uint64_t hit = 1; is_killed; ++hit) {
    SCOPED_TRACE("call " + std::to_string(hit));
    set_failpoint({.name = "any", .hit = hit});
    const int status = run_and_kill(3 * kSaveEvery + kGroup, 0);
    clear_failpoint();
    is_killed = WIFSIGNALED(status);
    EXPECT_TRUE(is_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    expect_kept_promises();
    if (HasFailure()) return;
  }
}

// A server that dies while it is being made leaves nothing, or all of generation 1.
TEST_F(CrashTest, InTheMiddleOfCreateLeavesAFolderThatCanBeUsed) {
  for (std::uint64_t hit = 1; hit < 40; ++hit) {
    SCOPED_TRACE("call " + std::to_string(hit));
    std::filesystem::remove_all(folder());
    const pid_t child = ::fork();
    if (child == 0) {
      set_failpoint({.name = "any", .hit = hit});
      const auto server = make_run();
      const auto store = Store::create(folder(), "r", run_shape(), server.state(), kRunNow);
      ::_exit(store ? 0 : 3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const auto server = make_run();
    const bool has_checkpoint = inspect(folder()).has_value();
    if (has_checkpoint) {
      EXPECT_TRUE(Store::resume(folder(), run_shape()).has_value());
    } else {
      EXPECT_TRUE(WIFSIGNALED(status));
      EXPECT_TRUE(Store::create(folder(), "r", run_shape(), server.state(), kRunNow).has_value());
    }
  }
}

}  // namespace
}  // namespace ballast::store
