// The figures that the program carries have the paper's settings. The tables below are typed from
// the captions of figures 2 to 7 and from the appendix on experiments, so an edit of
// experiments/*.toml that leaves the paper does not go unnoticed. What the paper leaves open is
// typed from its published code (the length on MNIST) or is our decision, and says so.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "ballast/data/catalog.h"
#include "ballast/experiment/figures.h"
#include "ballast/experiment/grid.h"
#include "ballast/learn/registry.h"
#include "ballast/robust/registry.h"

namespace ballast::experiment {
namespace {

struct Panel {
  int figure;
  const char* attack;
  double share;  // lambda
  std::uint64_t byzantine;
};

// From the captions. "A very fast Byzantine worker" is one.
constexpr Panel kPanels[] = {
    {2, "label-flip", 0.3, 8}, {2, "sign-flip", 0.4, 8},                          //
    {3, "label-flip", 0.3, 3}, {3, "sign-flip", 0.4, 3},  {3, "little", 0.1, 1},  //
    {3, "empire", 0.4, 3},     {4, "sign-flip", 0.4, 4},  {4, "label-flip", 0.4, 4},
    {5, "label-flip", 0.4, 8}, {5, "sign-flip", 0.4, 8},                          //
    {6, "label-flip", 0.4, 1}, {6, "little", 0.3, 1},     {6, "empire", 0.4, 1},  //
    {7, "sign-flip", 0.4, 1},  {7, "label-flip", 0.4, 1},
};

struct FigureSetting {
  int figure;
  const char* data;
  std::uint64_t workers;
  std::string_view arrivals;
  std::uint64_t batch;
};

constexpr FigureSetting kFigures[] = {
    {2, "cifar10", 17, "id^2", 8}, {3, "cifar10", 9, "id", 8}, {4, "cifar10", 9, "id", 8},
    {5, "mnist", 17, "id^2", 16},  {6, "mnist", 9, "id", 16},  {7, "mnist", 9, "id", 16},
};

std::vector<PlannedRun> plan_of(int number) {
  const auto figures = paper_figures(std::to_string(number));
  EXPECT_TRUE(figures.has_value()) << (figures ? "" : figures.error().message);
  const auto plan = expand(figures->at(0).spec);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return *plan;
}

// Its published code makes every ceil(1 / lambda)-th update Byzantine.
double share_of_the_code(double stated) { return 1.0 / std::ceil(1.0 / stated); }

TEST(PaperSettings, PanelsAreThoseOfTheCaptionsAtTheShareStatedAndAtTheShareRun) {
  using Cell = std::tuple<int, std::string, double, double, std::uint64_t>;
  std::set<Cell> expected;
  for (const Panel& panel : kPanels) {
    for (const double share : {panel.share, share_of_the_code(panel.share)}) {
      expected.insert({panel.figure, panel.attack, panel.share, share, panel.byzantine});
    }
  }
  std::set<Cell> found;
  for (const FigureSetting& figure : kFigures) {
    for (const PlannedRun& planned : plan_of(figure.figure)) {
      const assembly::RunSpec& run = planned.run;
      found.insert({figure.figure, run.attack, planned.stated_share, run.share, run.byzantine});
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(PaperSettings, WorkersArrivalsDataAndBatchAreThoseOfThePaper) {
  for (const FigureSetting& figure : kFigures) {
    SCOPED_TRACE(figure.figure);
    for (const PlannedRun& planned : plan_of(figure.figure)) {
      const assembly::RunSpec& run = planned.run;
      EXPECT_EQ(run.data, figure.data);
      EXPECT_EQ(run.workers, figure.workers);
      EXPECT_EQ(run.arrivals, figure.arrivals);
      EXPECT_EQ(run.batch, figure.batch);
      EXPECT_EQ(run.partition, assembly::PartitionKind::kShared);
      EXPECT_TRUE(run.augment);
    }
  }
}

TEST(PaperSettings, OptimizationIsThatOfTheAppendix) {
  for (const FigureSetting& figure : kFigures) {
    SCOPED_TRACE(figure.figure);
    for (const PlannedRun& planned : plan_of(figure.figure)) {
      const assembly::RunSpec& run = planned.run;
      EXPECT_EQ(run.eta, 0.01);
      EXPECT_TRUE(run.eta_decay_after.empty());
      EXPECT_EQ(run.beta, std::optional(0.25));
      EXPECT_EQ(run.alpha, assembly::Alpha::kConstant);
      EXPECT_EQ(run.gamma, 0.1);
      EXPECT_EQ(run.momentum, 0.9);
      EXPECT_EQ(run.projection, assembly::ProjectionKind::kNone);
      // Algorithm 2: the sender gets x_t, no update is too old, senders are drawn.
      EXPECT_EQ(run.reply, assembly::Reply::kPaper);
      EXPECT_EQ(run.staleness_max, 0u);
      EXPECT_EQ(run.clock, assembly::Clock::kDraw);
    }
  }
}

TEST(PaperSettings, OnlyFiguresFourAndSevenCompareOptimizers) {
  for (const FigureSetting& figure : kFigures) {
    std::set<assembly::Optimizer> found;
    for (const PlannedRun& planned : plan_of(figure.figure)) found.insert(planned.run.optimizer);
    const bool compares = figure.figure == 4 || figure.figure == 7;
    const std::set<assembly::Optimizer> all = {
        assembly::Optimizer::kMu2, assembly::Optimizer::kMomentum, assembly::Optimizer::kSgd};
    EXPECT_EQ(found, compares ? all : std::set{assembly::Optimizer::kMu2}) << figure.figure;
  }
}

struct NamedRule {
  std::string_view label;
  const char* rule;
  const char* weights;
};

// \u03c9 stands for weights that are counts.
constexpr NamedRule kRules[] = {{"\u03c9-GM", "gm", "count"},
                                {"GM", "gm", "uniform"},
                                {"\u03c9-GM, 3 steps", "gm(iterations=3, start=zero)", "count"},
                                {"GM, 3 steps", "gm(iterations=3, start=zero)", "uniform"},
                                {"\u03c9-CWMed", "cwmed", "count"},
                                {"CWMed", "cwmed", "uniform"}};
constexpr std::pair<std::string_view, assembly::Optimizer> kOptimizers[] = {
    {"\u03bc\u00b2-SGD, ", assembly::Optimizer::kMu2},
    {"momentum, ", assembly::Optimizer::kMomentum},
    {"SGD, ", assembly::Optimizer::kSgd}};

// A curve does what its label says: [optimizer, ] rule [ + CTMA at the share of the run].
void expect_curve(const PlannedRun& planned) {
  SCOPED_TRACE(planned.curve + " in " + planned.panel);
  const assembly::RunSpec& run = planned.run;
  std::string label = planned.curve;
  for (const auto& [prefix, optimizer] : kOptimizers) {
    if (!label.starts_with(prefix)) continue;
    EXPECT_EQ(run.optimizer, optimizer);
    label.erase(0, prefix.size());
    break;
  }
  constexpr std::string_view kCtma = " + \u03c9-CTMA";
  const bool has_ctma = label.ends_with(kCtma);
  if (has_ctma) label.resize(label.size() - kCtma.size());
  const auto named = std::ranges::find(kRules, label, &NamedRule::label);
  ASSERT_NE(named, std::end(kRules));
  const std::string rule =
      has_ctma ? fmt::format("ctma({}, {})", named->rule, run.share) : named->rule;
  EXPECT_EQ(run.rule, robust::rule_registry().canonical(rule).value());
  EXPECT_EQ(run.weights, named->weights);
  EXPECT_EQ(run.method, "table");
}

TEST(PaperSettings, CurvesDoWhatTheirLabelsSay) {
  for (const FigureSetting& figure : kFigures) {
    for (const PlannedRun& planned : plan_of(figure.figure)) {
      if (!planned.curve.starts_with("recommended")) expect_curve(planned);
    }
  }
}

// The paper gives no length. Its code trains one epoch on MNIST, 60,000 / 16 updates; two epochs
// of CIFAR-10, 2 * 50,000 / 8, are our decision.
TEST(PaperSettings, LengthsAreThoseOfTheCodeAndOurDecision) {
  for (const FigureSetting& figure : kFigures) {
    const std::uint64_t updates =
        std::string_view(figure.data) == "mnist" ? 60'000 / 16 : 2 * 50'000 / 8;
    for (const PlannedRun& planned : plan_of(figure.figure)) {
      EXPECT_EQ(planned.run.updates, updates) << figure.figure;
    }
  }
}

TEST(PaperSettings, NormalisationAndAugmentationAreThoseOfTheTable) {
  const data::KnownDataset& mnist = **data::find_dataset("mnist");
  EXPECT_THAT(mnist.mean, testing::ElementsAre(0.1307F));
  EXPECT_THAT(mnist.deviation, testing::ElementsAre(0.3081F));
  EXPECT_EQ(mnist.train_augmentation, data::Augmentation());
  const data::KnownDataset& cifar = **data::find_dataset("cifar10");
  EXPECT_THAT(cifar.mean, testing::ElementsAre(0.4914F, 0.4822F, 0.4465F));
  EXPECT_THAT(cifar.deviation, testing::ElementsAre(0.2023F, 0.1994F, 0.2010F));
  EXPECT_EQ(cifar.train_augmentation.crop_padding, 2u);
  EXPECT_EQ(cifar.train_augmentation.flip_probability, 0.5);
}

// Conv(in, 20, 5), Conv(20, 50, 5), FC(-> 50), BatchNorm, FC(50 -> 10), each with its bias.
std::vector<std::vector<std::size_t>> layers(std::size_t channels, std::size_t flat) {
  return {{20, channels, 5, 5},
          {20},
          {50, 20, 5, 5},
          {50},
          {50, flat},
          {50},
          {50},
          {50},
          {10, 50},
          {10}};
}

void expect_layers(const char* name, data::Shape input, std::size_t flat) {
  const auto model = learn::make_model({.name = name, .input = input, .class_count = 10});
  ASSERT_TRUE(model.has_value()) << model.error().message;
  std::vector<std::vector<std::size_t>> found;
  for (const learn::TensorSlot& slot : (*model)->parameters()) found.push_back(slot.shape);
  EXPECT_EQ(found, layers(input.channels, flat)) << name;
  EXPECT_EQ((*model)->statistics().size(), 2u) << "a mean and a variance";
}

TEST(PaperSettings, LayersAreThoseOfTheTable) {
  expect_layers("mnist-cnn", {.channels = 1, .height = 28, .width = 28}, 800);
  expect_layers("cifar10-cnn", {.channels = 3, .height = 32, .width = 32}, 1250);
  for (const FigureSetting& figure : kFigures) {
    const std::string name = std::string_view(figure.data) == "mnist" ? "mnist-cnn" : "cifar10-cnn";
    for (const PlannedRun& planned : plan_of(figure.figure)) {
      EXPECT_EQ(planned.run.model, name) << figure.figure;
      EXPECT_EQ(planned.run.engine, assembly::Engine::kNative);
    }
  }
}

}  // namespace
}  // namespace ballast::experiment
