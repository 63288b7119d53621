#include "ballast/store/journal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "ballast/files/test_support.h"
#include "ballast/store/failpoint.h"
#include "ballast/store/test_run.h"

namespace ballast::store {
namespace {

using files::refusal;

class JournalTest : public RunFolderTest {
 protected:
  Journal open() const { return Journal::open(place()).value(); }

  static std::vector<JournalRecord> some(std::uint64_t first_t, std::size_t count) {
    std::vector<JournalRecord> records;
    for (std::uint64_t t = first_t; t < first_t + count; ++t) {
      records.push_back({.t = t,
                         .worker = static_cast<std::uint32_t>(t % 3),
                         .sequence = t / 3 + 1,
                         .version = t - 1,
                         .checksum = ~t});
    }
    return records;
  }
};

TEST_F(JournalTest, GivesBackWhatWasNoted) {
  const auto noted = some(1, 5);
  {
    Journal journal = open();
    ASSERT_TRUE(journal.begin(0, 0, 0).has_value());
    ASSERT_TRUE(journal.append(noted).has_value());
  }
  const auto records = open().records().value();
  ASSERT_EQ(records.size(), noted.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    JournalRecord expected = noted[i];
    expected.position = i + 1;
    expected.incarnation = 1;
    EXPECT_EQ(records[i], expected);
  }
}

TEST_F(JournalTest, PositionsRiseAlsoAfterAllWasCut) {
  Journal journal = open();
  ASSERT_TRUE(journal.begin(0, 0, 0).has_value());
  EXPECT_EQ(journal.last_position().value(), 0u);
  ASSERT_TRUE(journal.append(some(1, 4)).has_value());
  ASSERT_TRUE(journal.cut(4).has_value());
  EXPECT_EQ(journal.record_count().value(), 0u);
  EXPECT_EQ(journal.last_position().value(), 4u);
  ASSERT_TRUE(journal.append(some(5, 1)).has_value());
  EXPECT_EQ(journal.records().value().front().position, 5u);
  EXPECT_TRUE(journal.records(5).value().empty());
}

TEST_F(JournalTest, AnIncarnationIsAboveAllBeforeIt) {
  EXPECT_EQ(open().begin(0, 0, 0).value().number, 1u);
  EXPECT_EQ(open().begin(7, 3, 50).value().number, 8u);
  EXPECT_EQ(open().begin(0, 3, 50).value().number, 9u);
  const auto lives = open().incarnations().value();
  ASSERT_EQ(lives.size(), 3u);
  EXPECT_EQ(lives[1].generation, 3u);
  EXPECT_EQ(lives[1].t, 50u);
}

TEST_F(JournalTest, KnowsTheLargestSequenceAcceptedFromEachWorker) {
  Journal journal = open();
  ASSERT_TRUE(journal.begin(0, 0, 0).has_value());
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  const std::vector<JournalRecord> records = {
      {.t = 1, .worker = 0, .sequence = 4},
      {.t = 2, .worker = 0, .sequence = 3},
      {.t = 2, .worker = 1, .sequence = 9, .verdict = server::Verdict::kStale},
      {.t = 3, .worker = 2, .sequence = huge},
      {.t = 4, .worker = 2, .sequence = 5},
      {.t = 5, .worker = 77, .sequence = 5}};
  ASSERT_TRUE(journal.append(records).has_value());
  EXPECT_EQ(journal.acknowledged_sequences(3).value(), (std::vector<std::uint64_t>{4, 0, huge}));
}

TEST_F(JournalTest, AFailedAppendNotesNothing) {
  Journal journal = open();
  ASSERT_TRUE(journal.begin(0, 0, 0).has_value());
  ASSERT_TRUE(set_failpoint("journal-append:1:enospc").has_value());
  EXPECT_NE(refusal(journal.append(some(1, 3))).find("No space left"), std::string::npos);
  EXPECT_EQ(journal.record_count().value(), 0u);
  EXPECT_TRUE(journal.append(some(1, 3)).has_value());
}

TEST_F(JournalTest, ADamagedJournalIsRefused) {
  std::ofstream(place() / "journal.sqlite") << std::string(5000, 'x');
  EXPECT_NE(refusal(Journal::open(place())).find("move it away"), std::string::npos);
  EXPECT_FALSE(Journal::open_to_read(place()).has_value());
}

TEST_F(JournalTest, CanBeReadWhileItIsWritten) {
  Journal journal = open();
  ASSERT_TRUE(journal.begin(0, 0, 0).has_value());
  ASSERT_TRUE(journal.append(some(1, 3)).has_value());
  EXPECT_EQ(Journal::open_to_read(place()).value().record_count().value(), 3u);
  EXPECT_TRUE(journal.append(some(4, 3)).has_value());
}

}  // namespace
}  // namespace ballast::store
