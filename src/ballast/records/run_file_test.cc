#include "ballast/records/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string file_stem_of(const std::string& run) { return file_stem({.run = run, .seed = 2}); }

TEST(FileStem, KeepsHarmlessNames) { EXPECT_EQ(file_stem_of("gm_0.4-a"), "gm_0.4-a-seed2"); }

TEST(FileStem, StaysInItsFolderAndKeepsNamesApart) {
  EXPECT_THAT(file_stem_of("../a/b"), testing::MatchesRegex("..-a-b-[0-9a-f]{8}-seed2"));
  EXPECT_NE(file_stem_of("a/b"), file_stem_of("a b"));
  EXPECT_NE(file_stem_of(std::string(300, 'a')), file_stem_of(std::string(301, 'a')));
  EXPECT_LT(file_stem_of(std::string(300, 'a')).size(), 200u);
}

TEST(RunFile, ReadsBackEveryBit) {
  RunRecord record = record_of("label flip", "\xCF\x89-GM \"x\"", 1, 1.0 / 3.0);
  record.seed = std::numeric_limits<std::uint64_t>::max();
  record.status = RunStatus::kDiverged;
  record.evaluations[0].test_loss = std::numeric_limits<double>::infinity();
  record.evaluations[1].test_loss = -std::numeric_limits<double>::infinity();
  record.evaluations[1].seconds = 5e-324;

  const auto json = run_json(record);
  ASSERT_TRUE(json) << json.error().message;
  const auto back = parse_run(*json);

  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, record);
}

TEST(RunFile, KeepsNan) {
  RunRecord record = record_of("p", "c", 1, 0.5);
  record.evaluations[0].train_loss = std::nan("");

  const auto back = parse_run(run_json(record).value());

  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(std::isnan(back->evaluations[0].train_loss));
}

TEST(RunFile, RefusesNamesThatAreNotUtf8) { EXPECT_FALSE(run_json({.run = "\xFF"})); }

TEST(RunFile, RefusesWhatIsNoRun) {
  const std::string good = run_json(record_of("p", "c", 1, 0.5)).value();
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "'run'"},
      {"[]", "'run'"},
      {good.substr(0, good.size() / 2), "'run'"},
      {std::string(100000, '['), "'run'"},
      {with("\"seed\": 1", "\"seed\": -1"), "'seed'"},
      {with("\"seed\": 1", "\"seed\": 1.5"), "'seed'"},
      {with("\"finished\"", "\"done\""), "'status'"},
      {with("\"total_seconds\": 4.0", "\"total_seconds\": true"), "'total_seconds'"},
      {with("\"total_seconds\": 4.0", "\"total_seconds\": \"4\""), "'total_seconds'"},
      {with("\"evaluations\": [", "\"evaluations\": [7,"), "'t'"},
      {with("\"staleness_max\"", "\"staleness_min\""), "'staleness_max'"},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text.substr(0, 500));
    const auto record = parse_run(text);
    ASSERT_FALSE(record);
    EXPECT_THAT(record.error().message, HasSubstr(expected));
  }
}

TEST(LoadFinishedRuns, FindsTheRunsWithTheWantedFingerprints) {
  const auto folder = make_test_folder();
  RunRecord first = record_of("p", "a", 1, 0.5);
  RunRecord diverged = record_of("p", "b", 2, 0.5);
  diverged.status = RunStatus::kDiverged;
  RunRecord interrupted = record_of("p", "c", 2, 0.5);
  interrupted.status = RunStatus::kInterrupted;
  const RunRecord changed = record_of("p", "d", 3, 0.5);
  for (const RunRecord& record : {first, diverged, interrupted, changed}) {
    ASSERT_TRUE(write_run_file(folder.path() / "runs", record));
  }
  std::ofstream(folder.path() / "runs" / "notes.txt") << "not a run";

  const auto records = load_finished_runs(folder.path() / "runs", {"f1", "f2"});

  ASSERT_TRUE(records) << records.error().message;
  EXPECT_THAT(*records, ElementsAre(first, diverged));
}

TEST(LoadFinishedRuns, FindsNothingWhereThereIsNoFolder) {
  const auto records = load_finished_runs("/no/such/folder", {"f"});
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_TRUE(records->empty());
}

TEST(LoadFinishedRuns, NamesTheFileThatIsDamaged) {
  const auto folder = make_test_folder();
  std::ofstream(folder.path() / "gm-seed1.json") << "{";

  const auto records = load_finished_runs(folder.path(), {"f"});

  ASSERT_FALSE(records);
  EXPECT_THAT(records.error().message, HasSubstr("gm-seed1.json: "));
}

TEST(RunFile, KeepsWhatTheRuleDid) {
  RunRecord record = record_of("p", "c", 1, 0.5);
  record.evaluations[0].why = Explanation{.byzantine_in_gm = 1.0 / 3.0, .honest_noise = HUGE_VAL};

  const auto again = parse_run(run_json(record).value());

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, record);
  EXPECT_FALSE(again->evaluations[1].why.has_value());
  EXPECT_FALSE(parse_run(R"({"why": 3})").has_value());
}

}  // namespace
}  // namespace ballast::records
