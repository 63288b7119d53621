#include "ballast/experiment/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::experiment {
namespace {

using testing::ElementsAre;

std::vector<PlannedRun> runs_of(std::string_view text) {
  const auto spec = parse_spec(text, "spec.toml");
  EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().message);
  const auto runs = expand(spec ? *spec : Spec());
  EXPECT_TRUE(runs.has_value()) << (runs ? "" : runs.error().message);
  return runs ? *runs : std::vector<PlannedRun>();
}

std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  for (const PlannedRun& run : runs_of(text)) names.push_back(run.name);
  return names;
}

TEST(Grid, WithoutTablesOnlySeedsVary) {
  const auto runs = runs_of("seeds = [5, 7]");

  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].name, "spec");
  EXPECT_EQ(runs[1].name, "spec");
  EXPECT_EQ(runs[1].seed, 7u);
  EXPECT_EQ(runs[0].panel, "");
  EXPECT_EQ(runs[0].curve, "");
  EXPECT_EQ(runs[0].run, runs[1].run);
}

TEST(Grid, RunsGridTimesCurvesTimesSeedsInThatOrder) {
  EXPECT_THAT(names_of(R"(
seeds = [1, 2]
[grid]
share = [0.3, 0.4]
attack = ["sign-flip", "little"]
[[curve]]
label = "w-GM"
[[curve]]
label = "GM"
weights = "uniform"
)"),
              ElementsAre("w-GM_share-0.3_attack-sign-flip", "w-GM_share-0.3_attack-sign-flip",
                          "GM_share-0.3_attack-sign-flip", "GM_share-0.3_attack-sign-flip",
                          "w-GM_share-0.3_attack-little", "w-GM_share-0.3_attack-little",
                          "GM_share-0.3_attack-little", "GM_share-0.3_attack-little",
                          "w-GM_share-0.4_attack-sign-flip", "w-GM_share-0.4_attack-sign-flip",
                          "GM_share-0.4_attack-sign-flip", "GM_share-0.4_attack-sign-flip",
                          "w-GM_share-0.4_attack-little", "w-GM_share-0.4_attack-little",
                          "GM_share-0.4_attack-little", "GM_share-0.4_attack-little"));
}

TEST(Grid, PanelsNeedNoCrossProduct) {
  const auto runs = runs_of(R"(
seeds = [1]
[[panel]]
label = "flip, \u03bb = 0.4"
attack = "label-flip"
share = 0.4
[[panel]]
label = "little"
stated_share = 0.3
attack = "little"
share = "1/4"
[grid]
batch = [8, 16]
[[curve]]
label = "\u03c9-GM"
)");

  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[1].name, "w-GM_flip-lambda-0.4_batch-16");
  EXPECT_EQ(runs[1].panel, "flip, \u03bb = 0.4, batch = 16");
  EXPECT_EQ(runs[1].run.attack, "label-flip");
  EXPECT_EQ(runs[1].stated_share, 0.4);
  EXPECT_EQ(runs[2].name, "w-GM_little_batch-8");
  EXPECT_EQ(runs[2].panel, "little, batch = 8");
  EXPECT_EQ(runs[2].run.share, 0.25);
  EXPECT_EQ(runs[2].stated_share, 0.3);
}

TEST(Grid, FillsTheRulesPlaceholdersForEachRun) {
  const auto runs = runs_of(R"toml(
seeds = [1]
rule = "nnm(ctma(gm, {share}), {cap_share})"
weights = "f-cap(1, 0.2) & f-cap(2, 0.25)"
[grid]
share = [0.3, "1/4"]
)toml");

  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].run.rule, "nnm(ctma(gm, 0.3), 0.25)");
  EXPECT_EQ(runs[1].run.rule, "nnm(ctma(gm, 0.25), 0.25)");
}

TEST(Grid, RefusesUnknownPlaceholders) {
  for (const auto& [rule, shown] : {std::pair{"ctma(gm, {shar})", "{shar} is no number"},
                                    std::pair{"ctma(gm, {share", "{share is no number"}}) {
    const auto spec = parse_spec("rule = \"" + std::string(rule) + "\"", "spec.toml");
    ASSERT_TRUE(spec.has_value());

    const auto runs = expand(*spec);

    ASSERT_FALSE(runs.has_value()) << rule;
    EXPECT_THAT(runs.error().message,
                testing::AllOf(testing::StartsWith("spec.toml:1: rule = "),
                               testing::HasSubstr(shown), testing::HasSubstr("'{share}'?")));
  }
}

TEST(Grid, WhatACurveSetsWinsOverItsPanel) {
  const auto runs = runs_of(R"toml(
seeds = [1]
weights = "f-cap(2, 0.4)"
[[panel]]
label = "p"
[[panel]]
label = "q"
weights = "f-cap(1, 0.3)"
[[curve]]
label = "a"
weights = "count"
[[curve]]
label = "b"
)toml");

  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].run.weights, "count");
  EXPECT_EQ(runs[1].run.weights, "f-cap(f=2, share=0.4)");
  EXPECT_EQ(runs[2].run.weights, "count");
  EXPECT_EQ(runs[3].run.weights, "f-cap(share=0.3)");
}

TEST(Grid, RunsThatMeanTheSameAreEqual) {
  const auto runs = runs_of(R"toml(
seeds = [1]
[grid]
attack = ["empire", "empire(0.1)", "empire( epsilon = 1/10 )", "empire(0.2)"]
)toml");

  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[1].panel, "attack = empire(0.1)");
  EXPECT_EQ(fingerprint(runs[0].run, 1), fingerprint(runs[1].run, 1));
  EXPECT_EQ(fingerprint(runs[0].run, 1), fingerprint(runs[2].run, 1));
  EXPECT_NE(fingerprint(runs[0].run, 1), fingerprint(runs[3].run, 1));
}

TEST(Grid, SetsTheKeysOfPanelAndCurve) {
  const auto runs = runs_of(R"toml(
share = 0.1
seeds = [1]
[grid]
share = [0.3]
attack = ["empire"]
[[curve]]
label = "capped"
weights = "f-cap(f=1, share = 1/4)"
)toml");

  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].run.share, 0.3);
  EXPECT_EQ(runs[0].run.attack, "empire");
  EXPECT_EQ(runs[0].run.weights, "f-cap(share=0.25)");
  EXPECT_EQ(runs[0].panel, "share = 0.3, attack = empire");
  EXPECT_EQ(runs[0].curve, "capped");
}

TEST(Grid, VariesKeysThatAreListsThemselves) {
  const auto runs = runs_of("seeds = [1]\n[grid]\neta_decay_after = [[], [100, 200]]");

  ASSERT_EQ(runs.size(), 2u);
  EXPECT_TRUE(runs[0].run.eta_decay_after.empty());
  EXPECT_THAT(runs[1].run.eta_decay_after, ElementsAre(100, 200));
  EXPECT_EQ(runs[1].name, "eta-decay-after-100-200");
}

TEST(Grid, TakesTheModelOfTheDataSet) {
  const auto runs =
      runs_of("seeds = [1]\n[grid]\ndata = [\"mnist\", \"fashion-mnist\", \"cifar10\"]");

  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].run.model, "mnist-cnn");
  EXPECT_EQ(runs[1].run.model, "mnist-cnn");
  EXPECT_EQ(runs[2].run.model, "cifar10-cnn");
}

TEST(Resolve, OwnDataTakesSoftmaxAndOwnModelsTakeTorch) {
  assembly::RunSpec own;
  own.data = assembly::kDataFromFiles;
  EXPECT_EQ(resolve(own).model, "softmax");
  EXPECT_EQ(resolve(own).engine, assembly::Engine::kNative);

  own.model = "net.pt";
  EXPECT_EQ(resolve(own).model, "net.pt");
  EXPECT_EQ(resolve(own).engine, assembly::Engine::kTorch);
}

TEST(Grid, NamesAreGoodForFilesAndDiffer) {
  const auto names = names_of(R"toml(
seeds = [1]
[grid]
rule = ["ctma(gm, 0.4)", "ctma(gm,0.4)", "ctma( gm, 0.4 )"]
[[curve]]
label = "../../etc/passwd"
[[curve]]
label = "\u03c9"
[[curve]]
label = "\u03c9\u03c9"
)toml");

  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 9u);
  for (const std::string& name : names) {
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789.+-_"),
              std::string::npos)
        << name;
    EXPECT_NE(name.front(), '.') << name;
    EXPECT_NE(name.front(), '-') << name;
  }
}

TEST(Grid, LongNamesAreCutAndDiffer) {
  const std::string label(300, 'x');
  const auto names = names_of("seeds = [1]\n[[curve]]\nlabel = \"" + label +
                              "\"\n[[curve]]\nlabel = \"" + label + "y\"");

  ASSERT_EQ(names.size(), 2u);
  EXPECT_NE(names[0], names[1]);
  EXPECT_LT(names[0].size(), 200u);
}

TEST(Grid, RefusesMoreRunsThanAnybodyMeans) {
  std::string text = "[grid]\n";
  for (const std::string_view key :
       {"workers", "batch", "hidden", "updates", "evaluate_every", "staleness_max"}) {
    text += std::string(key) + " = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]\n";
  }
  const auto spec = parse_spec(text, "spec.toml");
  ASSERT_TRUE(spec.has_value());

  const auto runs = expand(*spec);

  ASSERT_FALSE(runs.has_value());
  EXPECT_EQ(runs.error().message,
            "spec.toml: these are 3e+06 runs, more than 10000; shorten the grid");
}

TEST(Grid, IsTheSameForTheResolvedText) {
  constexpr std::string_view kText = "[grid]\nshare = [0.3, \"1/3\"]\n[[curve]]\nlabel = \"a\"";
  const auto spec = parse_spec(kText, "spec.toml");
  ASSERT_TRUE(spec.has_value());

  EXPECT_EQ(runs_of(to_toml(*spec)), runs_of(kText));
}

TEST(Grid, LeavesCurvesOutOfPanels) {
  constexpr std::string_view kText =
      "seeds = [1]\n[[panel]]\nlabel = \"p\"\n[[panel]]\nlabel = \"q\"\n"
      "[[curve]]\nlabel = \"a\"\nnot_in = [\"q\"]\nneeds = \"f\"\n[[curve]]\nlabel = \"b\"";

  const auto runs = runs_of(kText);

  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].curve, "a");
  EXPECT_EQ(runs[2].curve, "b");
  EXPECT_EQ(runs[2].panel_label, "q");
  EXPECT_EQ(runs_of(to_toml(parse_spec(kText, "spec.toml").value())), runs);
}

TEST(Grid, RefusesToRunNothing) {
  const auto spec = parse_spec(
      "[[panel]]\nlabel = \"p\"\n[[curve]]\nlabel = \"a\"\nnot_in = [\"p\"]", "spec.toml");
  ASSERT_TRUE(spec.has_value());

  EXPECT_EQ(expand(*spec).error().message,
            "spec.toml: every curve is left out of every panel; nothing is to be run");
}

TEST(Grid, TellsMethodsHowManyWorkersLie) {
  const auto runs = runs_of(
      "workers = 10\nbyzantine = 3\noptimizer = \"sgd\"\nseeds = [1]\n"
      "[grid]\nmethod = [\"kardam({f})\", \"basgd({2f+1}, cwtm(0.2))\"]");

  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].run.method, "kardam(3)");
  EXPECT_EQ(runs[1].run.method, "basgd(7, rule=cwtm(0.2))");
}

// FNV-1a of the lines "seed = 1", "updates = 3750", ..., "ball_radius = 1.0", worked out elsewhere.
// A new key or default changes it, and finished runs are then run again.
TEST(Fingerprint, IsStable) { EXPECT_EQ(fingerprint(assembly::RunSpec(), 1), "569d3f6c263c6af7"); }

TEST(Fingerprint, DoesNotDependOnClaimsAndStatedShares) {
  constexpr std::string_view kTables = "[[panel]]\nlabel = \"p\"\n[[curve]]\nlabel = \"a\"\n";
  constexpr std::string_view kMore =
      "[[panel]]\nlabel = \"p\"\nstated_share = 0.1\n[[curve]]\nlabel = \"a\"\n"
      "[[claim]]\ntext = \"t\"\nbetter = \"a\"\nworse = \"a\"\n";

  EXPECT_EQ(fingerprint(runs_of(kMore).at(0).run, 1), fingerprint(runs_of(kTables).at(0).run, 1));
}

TEST(Fingerprint, ChangesWithEveryKeyAndTheSeed) {
  std::set<std::string> seen = {fingerprint(assembly::RunSpec(), 1)};
  EXPECT_TRUE(seen.insert(fingerprint(assembly::RunSpec(), 2)).second);
  for (const std::string_view line :
       {"workers = 8", "share = 0.41", "beta = \"1/k\"", "rule = \"mean\"", "augment = false",
        "eta_decay_after = [1]", "trace = \"a\"", "reply = \"newest\"", "validation_samples = 1",
        "shards_per_worker = 3"}) {
    const auto spec = parse_spec(line, "spec.toml");
    ASSERT_TRUE(spec.has_value());
    EXPECT_TRUE(seen.insert(fingerprint(spec->base, 1)).second) << line;
  }
}

TEST(Grid, TellsWhichKeysVaryAndTheirValues) {
  const auto spec = parse_spec(R"toml(
[[panel]]
label = "a"
share = 0.3
[[panel]]
label = "b"
share = "1/3"
byzantine = 2
[grid]
batch = [4, 8]
[[curve]]
label = "c"
rule = "ctma(gm, {share})"
)toml",
                               "spec.toml");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  const auto plan = expand(*spec);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  using Settings = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(
      plan->front().settings,
      (Settings{{"share", "0.3"}, {"byzantine", "1"}, {"batch", "4"}, {"rule", "ctma(gm, 0.3)"}}));
  EXPECT_EQ(plan->back().settings[1].second, "2");
}

}  // namespace
}  // namespace ballast::experiment
