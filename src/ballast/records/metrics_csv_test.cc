#include "ballast/records/metrics_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

using testing::HasSubstr;

const std::string kHeaderLine = std::string(kMetricsHeader) + "\n";

TEST(MetricsCsv, WritesTheHeaderAndOneLinePerEvaluation) {
  RunRecord record{.run = "gm", .seed = 3};
  record.evaluations = {{.t = 250,
                         .test_accuracy = 0.9712,
                         .test_loss = 0.1,
                         .train_loss = 1e-7,
                         .byzantine_updates = 100,
                         .staleness_mean = 8,
                         .staleness_max = 21,
                         .seconds = 1.5}};

  const std::vector records = {record};
  EXPECT_EQ(metrics_csv(records),
            "run,seed,t,test_accuracy,test_loss,train_loss,byzantine_updates,staleness_mean,"
            "staleness_max,seconds\n"
            "gm,3,250,0.9712,0.1,1e-07,100,8,21,1.5\n");
}

TEST(MetricsCsv, QuotesNamesThatNeedIt) {
  EXPECT_EQ(metrics_line({.run = "ctma(gm, 0.4)"}), "\"ctma(gm, 0.4)\",0,0,0,0,0,0,0,0,0\n");
  EXPECT_EQ(metrics_line({.run = "a\"b"}), "\"a\"\"b\",0,0,0,0,0,0,0,0,0\n");
}

TEST(MetricsCsv, ReadsBackWhatItWrote) {
  std::vector<RunRecord> records = some_records();
  records[0].run = "two\nlines, a \"quote\" and \xCF\x89";
  records[1].evaluations[0].test_accuracy = 1.0 / 3.0;
  records[1].evaluations[0].test_loss = std::numeric_limits<double>::infinity();

  const auto rows = parse_metrics(metrics_csv(records));

  ASSERT_TRUE(rows) << rows.error().message;
  std::size_t next = 0;
  for (const RunRecord& record : records) {
    for (const EvaluationRecord& evaluation : record.evaluations) {
      EXPECT_EQ(rows->rows[next++], (MetricsRow{record.run, record.seed, evaluation}));
    }
  }
  EXPECT_EQ(next, rows->rows.size());
}

TEST(MetricsCsv, HasAColumnForEachKeyThatVariesAndForWhatTheRuleDid) {
  std::vector<RunRecord> records = {record_of("p", "c", 1, 0.5), record_of("p", "c", 2, 0.5)};
  for (RunRecord& record : records) record.settings = {{"rule", "ctma(gm, 0.4)"}, {"f", "1"}};
  records[1].evaluations[1].why = Explanation{.byzantine_kept = 0.66, .direction_cosine = -0.25};

  const std::string text = metrics_csv(records);
  const auto metrics = parse_metrics(text);

  EXPECT_THAT(text, HasSubstr(",seconds,byzantine_weight,byzantine_kept,byzantine_in_gm,"
                              "direction_cosine,direction_distance,honest_noise,staleness_honest,"
                              "staleness_byzantine,rule,f\n"));
  ASSERT_TRUE(metrics) << metrics.error().message;
  EXPECT_EQ(metrics->columns, columns_of(records));
  const MetricsRow& first = metrics->rows.at(0);
  EXPECT_TRUE(std::isnan(first.evaluation.why.value().byzantine_kept)) << "it was not asked for";
  EXPECT_THAT(first.values, testing::ElementsAre("ctma(gm, 0.4)", "1"));
  EXPECT_EQ(metrics->rows.at(3).evaluation, records[1].evaluations[1]);
}

TEST(MetricsCsv, HasAColumnForABackDoorWhereARunHasOne) {
  std::vector<RunRecord> records = {record_of("p", "c", 1, 0.5), record_of("p", "d", 1, 0.5)};
  EXPECT_THAT(metrics_csv(records), testing::Not(HasSubstr("back_door")));
  for (RunRecord& record : records) record.settings = {{"rule", "gm"}};
  for (EvaluationRecord& evaluation : records[1].evaluations) evaluation.back_door = 0.75;
  records[1].evaluations[0].why = Explanation{.byzantine_kept = 0.66};

  const std::string text = metrics_csv(records);
  const auto metrics = parse_metrics(text);

  EXPECT_THAT(text, HasSubstr(",seconds,back_door,byzantine_weight,"));
  ASSERT_TRUE(metrics) << metrics.error().message;
  EXPECT_EQ(metrics->columns, columns_of(records));
  EXPECT_FALSE(metrics->rows.at(0).evaluation.back_door.has_value());
  EXPECT_EQ(metrics->rows.at(2).evaluation, records[1].evaluations[0]);
  EXPECT_FALSE(parse_metrics(std::string(kMetricsHeader) + ",back_door\ng,1,1,1,1,1,1,1,1,1,x\n"));
}

TEST(MetricsCsv, GivesNoTwoColumnsOneName) {
  RunRecord record = record_of("p", "c", 1, 0.5);
  record.settings = {{"staleness_max", "12"}, {"staleness", "x"}};
  EXPECT_THAT(metrics_csv(std::vector{record}),
              HasSubstr(",staleness_max,seconds,key_staleness_max,staleness\n"));
}

TEST(MetricsCsv, KeepsNanWithoutItsSign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string line = metrics_line({.evaluation = {.train_loss = std::copysign(nan, -1.0)}});

  EXPECT_EQ(line, ",0,0,0,0,nan,0,0,0,0\n");
  const auto rows = parse_metrics(kHeaderLine + line);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_TRUE(std::isnan(rows->rows.at(0).evaluation.train_loss));
}

TEST(MetricsCsv, ReadsLinesThatASpreadsheetSaved) {
  std::string text(kMetricsHeader);
  text += "\r\n\"a\",1,2,0.5,0,0,0,0,0,\"7\"\r\n";
  const auto rows = parse_metrics(text);

  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->rows.at(0).run, "a");
  EXPECT_EQ(rows->rows.at(0).evaluation.seconds, 7.0);
}

TEST(MetricsCsv, LeavesOutALineThatWasCutOff) {
  const std::string whole = kHeaderLine + "a,1,10,0,0,0,0,0,0,0\n";
  const std::string second = "\"b\"\"\",1,20,0,0,0,0,0,0,0\n";
  for (std::size_t length = 0; length < second.size(); ++length) {
    SCOPED_TRACE(length);
    const auto rows = parse_metrics(whole + second.substr(0, length));
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->rows.size(), 1u);
  }
}

TEST(MetricsCsv, RefusesWhatIsNoTableOfMetrics) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "first line"},
      {"run,seed\n", "first line"},
      {kHeaderLine + "a,1,2\n", "line 2 has 3 fields"},
      {kHeaderLine + "\n", "line 2 has 1 fields"},
      {std::string(kMetricsHeader) + ",byzantine_weight,rule\n", "first line"},
      {kHeaderLine + "a,1,2,3,4,5,6,7,8,9,10\n", "line 2 has 11 fields"},
      {kHeaderLine + std::string(1000, ',') + "\n", "too many fields"},
      {kHeaderLine + "a,x,2,3,4,5,6,7,8,9\n", "line 2 has no number in field 2"},
      {kHeaderLine + "a,1,-2,3,4,5,6,7,8,9\n", "no number in field 3"},
      {kHeaderLine + "a,1,2,0.5z,4,5,6,7,8,9\n", "no number in field 4"},
      {kHeaderLine + "a,1,2,,4,5,6,7,8,9\n", "no number in field 4"},
      {kHeaderLine + "a\"b,1,2,3,4,5,6,7,8,9\n", "quote inside"},
      {kHeaderLine + "\"a\"b,1,2,3,4,5,6,7,8,9\n", "behind a closing quote"},
      {kHeaderLine + "\"" + std::string(1 << 17, 'a') + "\",1\n", "too long"},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text.substr(0, 200));
    const auto rows = parse_metrics(text);
    ASSERT_FALSE(rows);
    EXPECT_THAT(rows.error().message, HasSubstr(expected));
  }
}

TEST(MetricsCsv, NamesTheFileInErrors) {
  const auto folder = make_test_folder();
  std::ofstream(folder.path() / "metrics.csv") << "nothing\n";

  const auto rows = read_metrics(folder.path() / "metrics.csv");

  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error().message, HasSubstr("metrics.csv: "));
}

TEST(MetricsWriter, StartsWithTheRunsThatAreDoneAndAppends) {
  const auto folder = make_test_folder();
  const auto path = folder.path() / "metrics.csv";
  std::ofstream(path) << "a cut off li";
  const std::vector<RunRecord> done = some_records();

  auto writer = MetricsWriter::create(path, {}, done);
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE(writer->append({.run = "new", .seed = 9}));

  const auto rows = read_metrics(path);  // while the writer still has it open
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->rows.front().run, done[0].run);
  EXPECT_EQ(rows->rows.back(), (MetricsRow{.run = "new", .seed = 9}));
}

TEST(MetricsWriter, KeepsTheLinesOfDifferentThreadsApart) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kLines = 200;
  const auto folder = make_test_folder();
  const auto path = folder.path() / "metrics.csv";
  auto writer = MetricsWriter::create(path, {}, {});
  ASSERT_TRUE(writer) << writer.error().message;

  std::vector<std::jthread> threads;
  for (std::size_t k = 0; k < kThreads; ++k) {
    threads.emplace_back([&writer, k] {
      for (std::size_t i = 0; i < kLines; ++i) {
        EXPECT_TRUE(writer->append({.run = "run", .seed = k, .evaluation = {.t = i}}));
      }
    });
  }
  threads.clear();

  const auto rows = read_metrics(path);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->rows.size(), kThreads * kLines);
}

TEST(MetricsWriter, SaysWhereItCannotWrite) {
  const auto writer = MetricsWriter::create("/no/such/folder/metrics.csv", {}, {});
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("/no/such/folder/metrics.csv"));
}

}  // namespace
}  // namespace ballast::records
