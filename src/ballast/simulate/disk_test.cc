#include "ballast/simulate/disk.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "ballast/store/journal.h"

namespace ballast::simulate {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  return std::vector<std::byte>(count, std::byte{7});
}

void write(Disk& disk, const char* path, bool is_flushed) {
  const auto file = disk.create(path, 10).value();
  ASSERT_TRUE(file->append(some_bytes(10)));
  if (!is_flushed) return;
  ASSERT_TRUE(file->finish());
}

TEST(SimulatedDisk, KeepsWhatWasFlushedThroughEveryLossOfPower) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Disk disk;
    Rng rng(seed);
    ASSERT_TRUE(disk.make_folder("/a"));
    write(disk, "/a/file", true);
    ASSERT_TRUE(disk.sync_folder("/a"));
    ASSERT_TRUE(disk.sync_folder("/"));
    disk.kill();
    disk.restart(PowerLoss::kTorn, rng);
    const auto node = disk.find("/a/file");
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->bytes, some_bytes(10));
  }
}

TEST(SimulatedDisk, LosesAndTearsWhatWasNotFlushed) {
  std::size_t lost_names = 0, torn_files = 0, whole_files = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Disk disk;
    Rng rng(seed);
    write(disk, "/file", false);
    disk.restart(PowerLoss::kTorn, rng);
    const auto node = disk.find("/file");
    lost_names += node == nullptr ? 1 : 0;
    torn_files += node != nullptr && node->bytes != some_bytes(10) ? 1 : 0;
    whole_files += node != nullptr && node->bytes == some_bytes(10) ? 1 : 0;
  }
  EXPECT_GT(lost_names, 10u);
  EXPECT_GT(torn_files, 10u);
  EXPECT_GT(whole_files, 3u);
}

TEST(SimulatedDisk, KeepsEverythingWhenOnlyTheProcessIsKilled) {
  Disk disk;
  Rng rng(1);
  write(disk, "/file", false);
  disk.kill();
  EXPECT_FALSE(disk.make_folder("/later"));
  disk.restart(PowerLoss::kNone, rng);
  EXPECT_EQ(disk.find("/file")->bytes, some_bytes(10));
  EXPECT_FALSE(disk.exists("/later"));
}

// The name of a file may be on the medium while the rename of its folder is not, never both names.
TEST(SimulatedDisk, RenamesWhollyOrNotAtAll) {
  std::size_t renamed = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Disk disk;
    Rng rng(seed);
    ASSERT_TRUE(disk.make_folder("/a"));
    ASSERT_TRUE(disk.sync_folder("/"));
    ASSERT_TRUE(disk.rename("/a", "/b"));
    disk.restart(PowerLoss::kTorn, rng);
    EXPECT_NE(disk.exists("/a"), disk.exists("/b"));
    renamed += disk.exists("/b") ? 1 : 0;
  }
  EXPECT_GT(renamed, 5u);
  EXPECT_LT(renamed, 45u);
}

TEST(SimulatedDisk, FailsAtTheChangeThatWasPlannedAndOnce) {
  Disk disk;
  disk.fail_at(2, EIO);
  EXPECT_TRUE(disk.make_folder("/a"));
  EXPECT_FALSE(disk.make_folder("/b"));
  EXPECT_TRUE(disk.make_folder("/b"));
  EXPECT_EQ(disk.fault_count(), 1u);
  disk.fill(false);
  EXPECT_FALSE(disk.create("/c", 1));
  disk.heal();
  EXPECT_TRUE(disk.create("/c", 1));
}

// What the journal has promised to keep is there after any loss of power, at any change.
TEST(SimulatedDisk, CarriesTheJournalThroughLossesOfPower) {
  for (std::uint64_t change = 1; change < 120; change += 3) {
    Disk disk;
    Rng rng(change);
    ASSERT_TRUE(disk.make_folder("/run"));
    ASSERT_TRUE(disk.sync_folder("/"));
    std::uint64_t appended = 0;
    {
      disk.die_at(change);
      auto journal = store::Journal::open("/run", disk);
      const bool has_begun = journal && journal->begin(0, 0, 0);
      while (has_begun && appended < 20 &&
             journal->append(std::vector{store::JournalRecord{.t = appended + 1}})) {
        ++appended;
      }
      disk.kill();
    }
    disk.restart(PowerLoss::kTorn, rng);
    auto journal = store::Journal::open("/run", disk);
    ASSERT_TRUE(journal.has_value()) << change << ": " << journal.error().message;
    const auto records = journal->records().value();
    EXPECT_GE(records.size(), appended) << change;
    EXPECT_LE(records.size(), appended + 1) << change;
  }
}

}  // namespace
}  // namespace ballast::simulate
