#include "ballast/records/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Spread, HasTheDeviationOfASample) {
  const double values[] = {1.0, 2.0, 6.0};  // deviations from 3: -2, -1, 3; squares sum to 14

  const Spread spread = spread_of(values);

  EXPECT_DOUBLE_EQ(spread.mean, 3.0);
  EXPECT_DOUBLE_EQ(spread.deviation, std::sqrt(7.0));
  EXPECT_EQ(spread.min, 1.0);
  EXPECT_EQ(spread.max, 6.0);
}

TEST(Spread, OfOneValueHasNoDeviation) {
  const double values[] = {0.3};
  EXPECT_EQ(spread_of(values).deviation, 0.0);
}

TEST(Summary, GathersTheSeedsOfEachCurve) {
  const std::vector<RunRecord> records = some_records();

  const auto summaries = summarise(records);

  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_EQ(summaries[0].curve, "\xCF\x89-GM");
  EXPECT_THAT(summaries[0].seeds, ElementsAre(1, 2));
  EXPECT_DOUBLE_EQ(summaries[0].final_accuracy.mean, 0.97);
  EXPECT_NEAR(summaries[0].final_accuracy.deviation, 0.01 * std::sqrt(2.0), 1e-15);
  EXPECT_EQ(summaries[0].best_accuracy, 0.98);
  EXPECT_EQ(summaries[0].t, 200u);
  EXPECT_EQ(summaries[0].seconds, 4.0);
  EXPECT_EQ(summaries[0].updates_per_second, 50.0);
  EXPECT_EQ(summaries[2].panel, "sign flip");
}

TEST(Summary, KeepsTheCurvesOfAPanelTogether) {
  const std::vector<RunRecord> records = {record_of("p", "a", 1, 0.5), record_of("q", "a", 1, 0.5),
                                          record_of("p", "b", 1, 0.5)};

  const auto summaries = summarise(records);

  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_EQ(summaries[0].panel + summaries[0].curve, "pa");
  EXPECT_EQ(summaries[1].panel + summaries[1].curve, "pb");
  EXPECT_EQ(summaries[2].panel + summaries[2].curve, "qa");
}

TEST(Summary, LeavesOutRunsWithoutEvaluationAndCountsUnfinishedOnes) {
  std::vector<RunRecord> records = {record_of("p", "a", 1, 0.5), record_of("p", "a", 2, 0.5),
                                    record_of("p", "a", 3, 0.5), record_of("p", "b", 1, 0.5)};
  records[1].status = RunStatus::kDiverged;
  records[2].status = RunStatus::kInterrupted;
  records[2].evaluations.pop_back();
  records[3].evaluations.clear();

  const auto summaries = summarise(records);

  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].diverged, 1u);
  EXPECT_EQ(summaries[0].interrupted, 1u);
  EXPECT_EQ(summaries[0].t, 100u);
}

TEST(Summary, IsWrittenAsJson) {
  const auto folder = make_test_folder();
  ASSERT_TRUE(write_summary(folder.path() / "summary.json", some_records()));

  std::ifstream file(folder.path() / "summary.json");
  const auto json = nlohmann::json::parse(file);

  ASSERT_EQ(json["curves"].size(), 3u);
  EXPECT_EQ(json["curves"][0]["curve"], "\xCF\x89-GM");
  EXPECT_EQ(json["curves"][0]["seeds"], (std::vector{1, 2}));
  EXPECT_DOUBLE_EQ(json["curves"][0]["final_accuracy"]["max"], 0.98);
}

TEST(Summary, RefusesNamesThatAreNotUtf8) {
  const std::vector records = {record_of("\xFF", "a", 1, 0.5)};
  EXPECT_FALSE(summary_json(records));
}

TEST(ResultTable, AlignsColumnsWhateverTheAlphabet) {
  EXPECT_EQ(result_table(some_records()),
            "label flip\n"
            "          accuracy %  best %  updates  updates/s  seeds\n"
            "  \xCF\x89-GM  97.00 \xC2\xB1 1.41   98.00      200         50  2\n"
            "  mean  20.00 \xC2\xB1"
            "14.14   30.00      200         50  2\n"
            "\n"
            "sign flip\n"
            "          accuracy %  best %  updates  updates/s  seeds\n"
            "  mean  50.00          50.00      200         50  1\n");
}

TEST(ResultTable, HasNoRoomForDeviationsThatNobodyHas) {
  EXPECT_EQ(result_table(std::vector{record_of("", "a", 1, 0.5)}),
            "     accuracy %  best %  updates  updates/s  seeds\n"
            "  a       50.00   50.00      200         50  1\n");
}

TEST(Summary, HasOneJsonObjectPerLine) {
  const std::string text = summary_lines(some_records()).value();
  std::istringstream lines(text);
  std::string line;
  std::vector<std::string> curves;
  while (std::getline(lines, line)) curves.push_back(nlohmann::json::parse(line)["curve"]);
  EXPECT_EQ(curves, (std::vector<std::string>{"\xCF\x89-GM", "mean", "mean"}));
}

TEST(ResultTable, GivesAPanelWithoutANameNoHeading) {
  const std::vector<RunRecord> records = {record_of("", "a", 1, 0.5)};
  EXPECT_THAT(result_table(records), testing::StartsWith("     accuracy %"));
}

TEST(ResultTable, SaysWhatDiverged) {
  std::vector<RunRecord> records = {record_of("p", "a", 1, 0.5)};
  records[0].status = RunStatus::kDiverged;
  EXPECT_THAT(result_table(records), HasSubstr("  1, 1 diverged\n"));
}

TEST(ResultTable, IsEmptyWithoutRuns) { EXPECT_EQ(result_table({}), ""); }

}  // namespace
}  // namespace ballast::records
