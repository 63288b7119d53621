#include "ballast/experiment/explain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "ballast/experiment/run.h"
#include "ballast/learn/registry.h"

namespace ballast::experiment {
namespace {

struct Row {
  std::vector<float> values;
  double weight = 1.0;
  bool is_byzantine = false;
  double kept = 1.0;
};

records::Explanation explain(std::string_view rule, const std::vector<Row>& rows) {
  WeighedRows view{.dim = rows.empty() ? 1 : rows[0].values.size()};
  for (const Row& row : rows) {
    view.pointers.push_back(row.values.data());
    view.weights.push_back(row.weight);
    view.kept.push_back(row.kept);
    view.is_byzantine.push_back(row.is_byzantine);
  }
  return Explainer::make(rule, {.honest = 1, .byzantine = 1}).value().explain(view).value();
}

// The honest mean is 3 and its noise 1; the mean of all is 1.
TEST(Explanation, MeasuresTheDirectionAgainstTheHonestMean) {
  const auto why = explain("mean", {{.values = {2, 0}},
                                    {.values = {4, 0}},
                                    {.values = {-3, 0}, .is_byzantine = true, .kept = 0.5}});
  EXPECT_NEAR(why.byzantine_weight, 1.0 / 3.0, 1e-12);
  EXPECT_NEAR(why.byzantine_kept, 0.5 / 2.5, 1e-12);
  EXPECT_NEAR(why.direction_cosine, 1.0, 1e-6);
  EXPECT_NEAR(why.direction_distance, 2.0, 1e-6);
  EXPECT_NEAR(why.honest_noise, 1.0 / 3.0, 1e-6);
}

// A direction that the server has told is not worked out again.
TEST(Explanation, TakesADirectionThatIsGiven) {
  const std::vector<float> honest = {2, 0}, liar = {-9, 0}, direction = {0, 4};
  const WeighedRows rows{.dim = 2,
                         .pointers = {honest.data(), liar.data()},
                         .weights = {1.0, 1.0},
                         .kept = {1.0, 0.0},
                         .is_byzantine = {false, true},
                         .direction = direction};
  auto explainer = Explainer::make("mean", {.honest = 1, .byzantine = 1}).value();
  const records::Explanation why = explainer.explain(rows).value();
  EXPECT_EQ(why.direction_cosine, 0.0);
  EXPECT_EQ(why.byzantine_kept, 0.0);
}

TEST(Explanation, SeesADirectionThatIsTurnedRound) {
  const auto why = explain(
      "mean", {{.values = {1, 1}, .weight = 3}, {.values = {-9, -9}, .is_byzantine = true}});
  EXPECT_NEAR(why.direction_cosine, -1.0, 1e-6);
  EXPECT_TRUE(std::isnan(why.direction_distance)) << "one honest row has no noise";
}

// All rows of a regular triangle pull alike.
TEST(Explanation, FindsTheCoefficientsOfTheGeometricMedian) {
  const float height = std::sqrt(3.0f);
  const auto why = explain(
      "mean",
      {{.values = {-1, 0}}, {.values = {1, 0}}, {.values = {0, height}, .is_byzantine = true}});
  EXPECT_NEAR(why.byzantine_in_gm, 1.0 / 3.0, 1e-4);
}

// Honest rows in orthogonal directions pull with a force of the root of 3, the liar holds with 2:
// less than half of the weight, and the median is its row.
TEST(Explanation, SeesARowThatHasCapturedTheGeometricMedian) {
  const std::vector<Row> rows = {{.values = {1, 0, 0}},
                                 {.values = {0, 1, 0}},
                                 {.values = {0, 0, 1}},
                                 {.values = {0, 0, 0}, .weight = 2, .is_byzantine = true}};
  const auto why = explain("gm", rows);
  EXPECT_NEAR(why.byzantine_weight, 0.4, 1e-12);
  EXPECT_EQ(why.byzantine_in_gm, 1.0);
}

TEST(Explanation, IsNotANumberWithoutRows) {
  const auto why = explain("gm", {});
  for (const records::ExplanationField& field : records::kExplanationFields) {
    EXPECT_TRUE(std::isnan(why.*(field.member))) << field.name;
  }
  const auto alone = explain("gm", {{.values = {1}, .is_byzantine = true}});
  EXPECT_EQ(alone.byzantine_kept, 1.0);
  EXPECT_TRUE(std::isnan(alone.direction_cosine));
}

std::shared_ptr<const data::Dataset> points() {
  std::vector<float> features;
  std::vector<int> labels;
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 3; ++j) {
      features.push_back(static_cast<float>((i * 7 + j * 5) % 11) / 11.0f + (i % 3 == j ? 2 : 0));
    }
    labels.push_back(i % 3);
  }
  auto dataset = data::Dataset::from_features({.channels = 3, .height = 1, .width = 1},
                                              std::move(features), std::move(labels), 3);
  return std::make_shared<const data::Dataset>(std::move(*dataset));
}

class ExplainedRun : public testing::TestWithParam<const char*> {};

TEST_P(ExplainedRun, HasItInEveryEvaluationAndIsTheSame) {
  PlannedRun planned{
      .run = assembly::RunSpec(), .seed = 1, .name = "run", .panel = "", .curve = ""};
  planned.run.data = "files";
  planned.run.model = "softmax";
  planned.run.rule = "ctma(gm, 0.4)";
  planned.run.method = GetParam();
  planned.run.updates = 60;
  planned.run.evaluate_every = 30;
  auto model = learn::make_model(
      {.name = "softmax", .input = {.channels = 3, .height = 1, .width = 1}, .class_count = 3});
  const assembly::Material material{.data = {points(), points(), {}}, .model = model.value()};

  const auto plain = run_one(planned, material);
  const auto explained = run_one(planned, material, {.explains = true});

  ASSERT_TRUE(plain && explained);
  EXPECT_EQ(plain->model, explained->model);
  ASSERT_EQ(explained->record.evaluations.size(), 2u);
  EXPECT_FALSE(plain->record.evaluations[1].why.has_value());
  const records::Explanation& why = explained->record.evaluations[1].why.value();
  EXPECT_NEAR(why.byzantine_weight, 0.4, 1e-9);
  for (const records::ExplanationField& field : records::kExplanationFields) {
    EXPECT_TRUE(std::isfinite(why.*(field.member))) << field.name;
  }
  // A worker that makes 0.4 of the updates is at most two or three behind, one of eight others
  // more.
  EXPECT_LT(why.staleness_byzantine, why.staleness_honest);
}

INSTANTIATE_TEST_SUITE_P(Methods, ExplainedRun, testing::Values("table", "table(past=5)"),
                         [](const auto& which) { return "Case" + std::to_string(which.index); });

}  // namespace
}  // namespace ballast::experiment
