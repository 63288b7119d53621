// Bytes that rot, files that vanish, calls that fail: the newest generation may go, the one before
// it never.

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "ballast/files/test_support.h"
#include "ballast/store/failpoint.h"
#include "ballast/store/generation.h"
#include "ballast/store/inspect.h"
#include "ballast/store/store.h"
#include "ballast/store/test_run.h"

namespace ballast::store {
namespace {

namespace fs = std::filesystem;

class DamageTest : public RunFolderTest {
 protected:
  // Generations 3 and 4, of t = 20 and t = 21; some slots are links to removed ones.
  void save() {
    auto server = make_run();
    Store store = create(server);
    for (const std::uint64_t t : {19, 20, 21}) {
      advance_to(server, t);
      ASSERT_TRUE(store.save(server.state(), kRunNow).has_value());
    }
  }

  std::vector<fs::path> files_of(std::uint64_t generation) const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(generation_folder(folder(), generation))) {
      paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  static void flip(const fs::path& path, std::uint64_t at, int bit) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ (1 << bit)));
  }

  void expect_failing_calls_lose_nothing(int error);

  // Expects the state of t = 20 from generation 3, and one damage on record.
  void expect_older(Reference& reference) {
    auto resumed = Store::resume(folder(), run_shape());
    ASSERT_TRUE(resumed.has_value()) << resumed.error().message;
    EXPECT_EQ(resumed->generation, 3u);
    EXPECT_EQ(resumed->damages.size(), 1u);
    EXPECT_EQ(digest(resumed->state.view()), reference.digest_at(20));
  }
};

TEST_F(DamageTest, AFlippedBitAnywhereIsFoundAndTheOlderGenerationUsed) {
  save();
  Reference reference;
  Rng rng({.seed = kRunSeed, .purpose = 2});
  const auto files = files_of(4);
  ASSERT_EQ(files.size(), 4 + 2 * kRunWorkers);
  for (std::uint64_t round = 0; round < rounds(200); ++round) {
    const fs::path& file = files[round % files.size()];
    // The ends of each file, then anywhere: in the header as often as in the values.
    const std::uint64_t size = fs::file_size(file);
    const std::uint64_t turn = round / files.size();
    const std::uint64_t at = turn == 0   ? 0
                             : turn == 1 ? size - 1
                                         : rng.below(turn % 2 == 0 ? 32 : size);
    const int bit = static_cast<int>(rng.below(8));
    SCOPED_TRACE(file.string() + " byte " + std::to_string(at) + " bit " + std::to_string(bit));
    flip(file, at, bit);
    expect_older(reference);
    flip(file, at, bit);
  }
  EXPECT_EQ(Store::resume(folder(), run_shape()).value().generation, 4u);
}

TEST_F(DamageTest, AMissingTornOrLongerFileIsFoundAndTheOlderGenerationUsed) {
  Reference reference;
  save();
  for (const fs::path& file : files_of(4)) {
    SCOPED_TRACE(file.string());
    const auto size = fs::file_size(file);
    fs::copy_file(file, place() / "copy", fs::copy_options::overwrite_existing);
    fs::remove(file);
    expect_older(reference);
    for (const std::uintmax_t other : {std::uintmax_t{0}, size / 2, size - 1, size + 1}) {
      fs::copy_file(place() / "copy", file, fs::copy_options::overwrite_existing);
      fs::resize_file(file, other);
      expect_older(reference);
    }
    fs::copy_file(place() / "copy", file, fs::copy_options::overwrite_existing);
  }
}

// An undamaged file in the wrong place.
TEST_F(DamageTest, ASwappedFileIsFound) {
  Reference reference;
  save();
  const fs::path newer = generation_folder(folder(), 4), older = generation_folder(folder(), 3);
  const std::vector<std::pair<fs::path, fs::path>> swaps = {
      {newer / "method-row-2.bin", newer / "method-row-1.bin"},
      {older / "w.bin", newer / "w.bin"},
      {older / "manifest.json", newer / "manifest.json"}};
  for (const auto& [from, to] : swaps) {
    SCOPED_TRACE(to.string());
    fs::rename(to, place() / "kept");
    fs::copy_file(from, to);
    expect_older(reference);
    fs::rename(place() / "kept", to);
  }
}

TEST_F(DamageTest, WithBothGenerationsDamagedThereIsNoGuessing) {
  save();
  flip(generation_folder(folder(), 4) / "w.bin", 40, 1);
  flip(generation_folder(folder(), 3) / "method-row-0.bin", 40, 1);
  const std::string message = files::refusal(Store::resume(folder(), run_shape()));
  EXPECT_NE(message.find("no checkpoint is intact; the newest: "), std::string::npos) << message;
  EXPECT_NE(message.find("w.bin: is damaged: its checksum is wrong"), std::string::npos);
}

TEST_F(DamageTest, AfterADamageTheNextSaveMakesTwoIntactGenerationsAgain) {
  save();
  flip(generation_folder(folder(), 4) / "w.bin", 40, 1);
  {
    auto resumed = Store::resume(folder(), run_shape()).value();
    auto server = make_run();
    ASSERT_TRUE(server.restore(std::move(resumed.state)).has_value());
    advance_to(server, 25);
    ASSERT_TRUE(resumed.store.save(server.state(), kRunNow).has_value());
  }
  const auto report = inspect(folder()).value();
  ASSERT_EQ(report.generations.size(), 2u);
  EXPECT_EQ(report.generations[0].number, 5u);
  EXPECT_EQ(report.generations[1].number, 3u);
  for (const auto& generation : report.generations) EXPECT_EQ(generation.damage, "");
}

// Every call of a save fails once, each way: the generations before stand, the store goes on.
void DamageTest::expect_failing_calls_lose_nothing(int error) {
  Reference reference;
  auto server = make_run();
  Store store = create(server);
  advance_to(server, 10);
  ASSERT_TRUE(store.save(server.state(), kRunNow).has_value());
  std::uint64_t saved_t = 10;
  bool was_reached = true;
  for (std::uint64_t hit = 1; was_reached; ++hit) {
    SCOPED_TRACE("call " + std::to_string(hit));
    advance(server);
    set_failpoint({.name = "any", .hit = hit, .action = FailpointAction::kFail, .error = error});
    const auto report = store.save(server.state(), kRunNow);
    was_reached = failpoint_hits() >= hit;
    clear_failpoint();
    if (report) saved_t = server.accepted_count();
    const auto found = inspect(folder()).value();
    ASSERT_GE(found.generations.size(), 2u);
    EXPECT_EQ(found.generations[0].damage, "");
    EXPECT_EQ(found.generations[1].damage, "");
    EXPECT_EQ(found.generations[0].manifest->accepted_count, saved_t);
  }
  advance(server);
  ASSERT_TRUE(store.save(server.state(), kRunNow).has_value());
  EXPECT_EQ(list_generations(folder()).value().size(), 2u);
  { const Store closed = std::move(store); }
  const auto resumed = Store::resume(folder(), run_shape()).value();
  EXPECT_EQ(digest(resumed.state.view()), reference.digest_at(server.accepted_count()));
}

TEST_F(DamageTest, FailingCallsLoseNothing) { expect_failing_calls_lose_nothing(EIO); }

TEST_F(DamageTest, AFullDiskLosesNothing) { expect_failing_calls_lose_nothing(ENOSPC); }

TEST_F(DamageTest, AFailedSaveSaysThatTheOneBeforeStands) {
  auto server = make_run();
  Store store = create(server);
  for (const char* failpoint : {"sync:1:eio", "allocate:1:enospc", "sync-folder:2:eio"}) {
    ASSERT_TRUE(set_failpoint(failpoint).has_value());
    const std::string message = files::refusal(store.save(server.state(), kRunNow));
    EXPECT_NE(message.find("checkpoint 2 is abandoned, the one before it stands"),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace ballast::store
