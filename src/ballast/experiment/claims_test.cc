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

using records::Finding;

// Both seeds of both curves in one panel: new 0.95 and 0.97, old with the given mean. Seed by seed
// they differ by nearly the same.
std::vector<records::RunRecord> panel_records(const std::string& panel, double old_mean,
                                              double noise = 0.0) {
  return {record(panel, "new", 1, 0.95), record(panel, "new", 2, 0.97),
          record(panel, "old", 1, old_mean - 0.01 - noise),
          record(panel, "old", 2, old_mean + 0.01 + noise)};
}

std::vector<JudgedClaim> judged(const std::vector<records::RunRecord>& records) {
  const Spec spec = spec_of(kSpec);
  const auto plan = expand(spec);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return judge_claims(spec, plan ? *plan : std::vector<PlannedRun>(), records);
}

TEST(Claims, CompareTheLastEvaluationsPanelByPanel) {
  auto records = panel_records("stated", 0.90);
  const auto more = panel_records("run", 0.95);
  records.insert(records.end(), more.begin(), more.end());

  const auto claims = judged(records);

  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].panel, "stated");
  EXPECT_NEAR(claims[0].better.mean, 0.96, 1e-12);
  EXPECT_NEAR(claims[0].better.deviation, 0.01414213562373095, 1e-12);
  EXPECT_NEAR(claims[0].worse.mean, 0.90, 1e-12);
  EXPECT_NEAR(claims[0].difference.mean, 6.0, 1e-9);
  EXPECT_EQ(claims[0].difference.pairs, 2u);
  EXPECT_TRUE(claims[0].is_as_stated());
  EXPECT_EQ(claims[0].finding, Finding::kHolds);
  EXPECT_EQ(claims[1].panel, "run");
  EXPECT_EQ(claims[1].stated_share, 0.4);
  EXPECT_EQ(claims[1].share, 1.0 / 3.0);
  EXPECT_FALSE(claims[1].is_as_stated());
  EXPECT_EQ(claims[1].finding, Finding::kFails);
}

TEST(Claims, HoldExactlyAtTheMargin) {
  EXPECT_EQ(judged(panel_records("stated", 0.94)).at(0).finding, Finding::kHolds);
  EXPECT_EQ(judged(panel_records("stated", 0.9401)).at(0).finding, Finding::kFails);
}

// Six points ahead on average, by 4 with one seed and by 8 with the other: two seeds cannot tell.
TEST(Claims, AreNotDecidedWhereTheSeedsDisagree) {
  const auto claims = judged(panel_records("stated", 0.90, 0.02));
  EXPECT_EQ(claims.at(0).finding, Finding::kNotDecided);
  EXPECT_LT(claims.at(0).difference.low, 2.0);
  EXPECT_GT(claims.at(0).difference.high, 2.0);
}

// The curves differ by 20 points from seed to seed, and by 6 from each other with every seed.
TEST(Claims, CompareRunsOfTheSameSeed) {
  auto records = panel_records("stated", 0.90);
  for (const std::size_t i : {0u, 2u}) records[i].evaluations.back().test_accuracy -= 0.2;
  EXPECT_EQ(judged(records).at(0).finding, Finding::kHolds);

  records[2].seed = 3;  // one pair is left
  EXPECT_EQ(judged(records).at(0).difference.pairs, 1u);
  EXPECT_EQ(judged(records).at(0).finding, Finding::kNotDecided);
}

TEST(Claims, OfBeingOnParAreTwoSided) {
  Spec spec = spec_of(kSpec);
  spec.claims[0].margin = 0.0;
  spec.claims[0].within = 1.0;
  const auto plan = expand(spec);
  ASSERT_TRUE(plan.has_value());
  const auto finding = [&](double old_mean) {
    return judge_claims(spec, *plan, panel_records("stated", old_mean)).at(0).finding;
  };

  EXPECT_EQ(finding(0.97), Finding::kHolds);
  EXPECT_EQ(finding(0.95), Finding::kHolds);
  EXPECT_EQ(finding(0.971), Finding::kFails);
  EXPECT_EQ(finding(0.949), Finding::kFails) << "better is not on par";
}

TEST(Claims, FailWhereTheBetterCurveDiverged) {
  auto records = panel_records("stated", 0.5);
  records[0].status = records::RunStatus::kDiverged;

  const auto claims = judged(records);

  EXPECT_TRUE(claims.at(0).has_diverged);
  EXPECT_EQ(claims.at(0).finding, Finding::kFails);
}

TEST(Claims, CountTheLastEvaluationOfAWorseCurveThatDiverged) {
  auto records = panel_records("stated", 0.96);
  records[2].status = records::RunStatus::kDiverged;
  EXPECT_EQ(judged(records).at(0).finding, Finding::kFails);

  records = panel_records("stated", 0.5);
  records[2].status = records::RunStatus::kDiverged;
  EXPECT_EQ(judged(records).at(0).finding, Finding::kHolds);
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
  EXPECT_NEAR(claim["worse_accuracy"]["deviation"].get<double>(), 1.4142135623730951, 1e-9);
  EXPECT_EQ(claim["difference"]["seeds"], 2);
  EXPECT_NEAR(claim["difference"]["mean"].get<double>(), 6.0, 1e-9);
  EXPECT_NEAR(claim["difference"]["low"].get<double>(), 6.0, 1e-9);
  EXPECT_EQ(claim["stated_share"], 0.4);
  EXPECT_EQ(claim["share_run"], 1.0 / 3.0);
  EXPECT_EQ(claim["finding"], "holds");
}

TEST(Claims, OfOneSeedHaveNoIntervalInJson) {
  auto records = panel_records("run", 0.9);
  std::erase_if(records, [](const records::RunRecord& record) { return record.seed == 2; });
  const FigureClaims figure{.figure = 6, .claims = judged(records)};

  const auto claim = nlohmann::json::parse(claims_json({&figure, 1}).value())["claims"].at(0);

  EXPECT_TRUE(claim["difference"]["low"].is_null());
  EXPECT_EQ(claim["finding"], "not decided");
}

TEST(Claims, SayTheDifferenceAndWhatWasAsked) {
  EXPECT_EQ(difference_text({.pairs = 3, .mean = 1.2, .low = -0.5, .high = 2.9}),
            "+1.20 [-0.50, +2.90]");
  EXPECT_EQ(difference_text(records::paired_difference(std::vector{-3.0})), "-3.00");
  Claim claim = spec_of(kSpec).claims.at(0);
  EXPECT_EQ(demand_text(claim), "2 or more");
  claim.within = 1.0;
  EXPECT_EQ(demand_text(claim), "within 1 either way");
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
