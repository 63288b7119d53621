#include "ballast/experiment/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ballast::experiment {
namespace {

constexpr std::string_view kSpec = R"toml(
seeds = [1, 2]
[[panel]]
label = "stated"
share = 0.4
[[panel]]
label = "run"
stated_share = 0.4
share = "1/3"
[[curve]]
label = "new"
[[curve]]
label = "old"
[[claim]]
text = "new is ahead by 2 points"
better = "new"
worse = "old"
margin = 2
)toml";

Spec spec_of(std::string_view text) {
  auto spec = parse_spec(text, "spec.toml");
  EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().message);
  return spec ? *spec : Spec();
}

records::RunRecord record(const std::string& panel, const std::string& curve, std::uint64_t seed,
                          double accuracy) {
  records::RunRecord result{.run = curve, .panel = panel, .curve = curve, .seed = seed};
  result.evaluations = {{.t = 10, .test_accuracy = 0.999}, {.t = 20, .test_accuracy = accuracy}};
  return result;
}

// Both seeds of both curves in one panel: new 0.95 and 0.97, old with the given mean.
std::vector<records::RunRecord> panel_records(const std::string& panel, double old_mean) {
  return {record(panel, "new", 1, 0.95), record(panel, "new", 2, 0.97),
          record(panel, "old", 1, old_mean - 0.03), record(panel, "old", 2, old_mean + 0.03)};
}

std::vector<JudgedClaim> judged(const std::vector<records::RunRecord>& records) {
  const Spec spec = spec_of(kSpec);
  const auto plan = expand(spec);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return judge_claims(spec, plan ? *plan : std::vector<PlannedRun>(), records);
}

TEST(Claims, CompareTheMeansOfTheLastEvaluationsPanelByPanel) {
  auto records = panel_records("stated", 0.90);
  const auto more = panel_records("run", 0.95);
  records.insert(records.end(), more.begin(), more.end());

  const auto claims = judged(records);

  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].panel, "stated");
  EXPECT_NEAR(claims[0].better.mean, 0.96, 1e-12);
  EXPECT_NEAR(claims[0].better.deviation, 0.01414213562373095, 1e-12);
  EXPECT_NEAR(claims[0].worse.mean, 0.90, 1e-12);
  EXPECT_TRUE(claims[0].is_as_stated());
  EXPECT_TRUE(claims[0].holds);
  EXPECT_EQ(claims[1].panel, "run");
  EXPECT_EQ(claims[1].stated_share, 0.4);
  EXPECT_EQ(claims[1].share, 1.0 / 3.0);
  EXPECT_FALSE(claims[1].is_as_stated());
  EXPECT_FALSE(claims[1].holds);
}

TEST(Claims, HoldExactlyAtTheMargin) {
  EXPECT_TRUE(judged(panel_records("stated", 0.94)).at(0).holds);
  EXPECT_FALSE(judged(panel_records("stated", 0.9401)).at(0).holds);
}

TEST(Claims, ANegativeMarginMeansOnPar) {
  Spec spec = spec_of(kSpec);
  spec.claims[0].margin = -1.0;
  const auto plan = expand(spec);
  ASSERT_TRUE(plan.has_value());

  EXPECT_TRUE(judge_claims(spec, *plan, panel_records("stated", 0.97)).at(0).holds);
  EXPECT_FALSE(judge_claims(spec, *plan, panel_records("stated", 0.971)).at(0).holds);
}

TEST(Claims, DoNotHoldWhereTheBetterCurveDiverged) {
  auto records = panel_records("stated", 0.5);
  records[0].status = records::RunStatus::kDiverged;

  const auto claims = judged(records);

  EXPECT_TRUE(claims.at(0).has_diverged);
  EXPECT_FALSE(claims.at(0).holds);
}

TEST(Claims, CountTheLastEvaluationOfAWorseCurveThatDiverged) {
  auto records = panel_records("stated", 0.96);
  records[2].status = records::RunStatus::kDiverged;
  EXPECT_FALSE(judged(records).at(0).holds);

  records = panel_records("stated", 0.5);
  records[2].status = records::RunStatus::kDiverged;
  EXPECT_TRUE(judged(records).at(0).holds);
}

TEST(Claims, AreNotJudgedWithoutRecords) {
  auto records = panel_records("stated", 0.9);
  records.resize(2);

  EXPECT_TRUE(judged(records).empty());
}

TEST(Claims, AreWrittenAsJson) {
  const FigureClaims figure{.figure = 6, .claims = judged(panel_records("run", 0.9))};

  const auto text = claims_json({&figure, 1});

  ASSERT_TRUE(text.has_value());
  const auto claim = nlohmann::json::parse(*text)["claims"].at(0);
  EXPECT_EQ(claim["figure"], 6);
  EXPECT_EQ(claim["panel"], "run");
  EXPECT_EQ(claim["claim"], "new is ahead by 2 points");
  EXPECT_EQ(claim["better"], "new");
  EXPECT_EQ(claim["worse"], "old");
  EXPECT_EQ(claim["margin"], 2.0);
  EXPECT_NEAR(claim["better_accuracy"]["mean"].get<double>(), 96.0, 1e-9);
  EXPECT_NEAR(claim["worse_accuracy"]["deviation"].get<double>(), 4.242640687119285, 1e-9);
  EXPECT_EQ(claim["stated_share"], 0.4);
  EXPECT_EQ(claim["share_run"], 1.0 / 3.0);
  EXPECT_EQ(claim["holds"], true);
}

TEST(Claims, RefuseToWriteTextThatIsNotUtf8) {
  FigureClaims figure{.figure = 6, .claims = judged(panel_records("run", 0.9))};
  figure.claims[0].panel = "\xff";

  EXPECT_FALSE(claims_json({&figure, 1}).has_value());
}

TEST(ShareText, IsADecimalOrAFraction) {
  EXPECT_EQ(share_text(0.4), "0.4");
  EXPECT_EQ(share_text(0.25), "0.25");
  EXPECT_EQ(share_text(1.0 / 3.0), "1/3");
  EXPECT_EQ(share_text(0.123456789), "0.1235");
}

}  // namespace
}  // namespace ballast::experiment
