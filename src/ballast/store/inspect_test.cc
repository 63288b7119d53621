#include "ballast/store/inspect.h"

#include <gtest/gtest.h>

#include "ballast/files/test_support.h"
#include "ballast/store/generation.h"
#include "ballast/store/store.h"
#include "ballast/store/test_run.h"

namespace ballast::store {
namespace {

using InspectTest = RunFolderTest;

TEST_F(InspectTest, TellsWhatARunningServerHasSaved) {
  auto server = make_run();
  Store store = create(server);
  for (int i = 0; i < 6; ++i) {
    const JournalRecord record = advance(server);
    ASSERT_TRUE(store.append({&record, 1}).has_value());
  }
  ASSERT_TRUE(store.save(server.state(), kRunNow + 1).has_value());
  const FolderReport report = inspect(folder()).value();
  ASSERT_EQ(report.generations.size(), 2u);
  const Manifest& manifest = report.generations[0].manifest.value();
  EXPECT_EQ(manifest.accepted_count, 6u);
  EXPECT_EQ(manifest.created_s, kRunNow + 1);
  EXPECT_EQ(report.generations[1].manifest->accepted_count, 0u);
  EXPECT_EQ(report.journal_damage, "");
  EXPECT_EQ(report.journal_count, 6u);
  ASSERT_EQ(report.incarnations.size(), 1u);
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(generation_folder(folder(), 2))) {
    bytes += entry.file_size();
  }
  EXPECT_EQ(report.generations[0].bytes, bytes);
}

TEST_F(InspectTest, NamesTheDamagedFile) {
  {
    auto server = make_run();
    const Store store = create(server);
  }
  std::filesystem::resize_file(folder() / "gen-1" / "w.bin", 7);
  std::filesystem::create_directory(folder() / "gen-2");
  std::filesystem::remove(folder() / "journal.sqlite");
  const FolderReport report = inspect(folder()).value();
  ASSERT_EQ(report.generations.size(), 2u);
  EXPECT_FALSE(report.generations[0].manifest.has_value());
  EXPECT_NE(report.generations[0].damage.find("manifest.json"), std::string::npos);
  EXPECT_NE(report.generations[1].damage.find("w.bin: has 7 bytes instead of 232"),
            std::string::npos);
  EXPECT_NE(report.journal_damage, "");
}

TEST_F(InspectTest, AFolderWithoutACheckpointIsAnError) {
  EXPECT_NE(files::refusal(inspect(place())).find("holds no checkpoint"), std::string::npos);
}

}  // namespace
}  // namespace ballast::store
