#include "ballast/assembly/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "ballast/data/temporary_folder.h"
#include "ballast/experiment/grid.h"
#include "ballast/experiment/spec.h"

namespace ballast::experiment {
namespace {

// What becomes of a specification from its text to its runs.
std::string outcome(std::string_view text) {
  const auto spec = parse_spec(text, "spec.toml");
  if (!spec) return spec.error().message;
  const auto runs = expand(*spec);
  return runs ? "fine" : runs.error().message;
}

TEST(Validate, AcceptsTheDefaults) { EXPECT_EQ(outcome(""), "fine"); }

TEST(Validate, RefusesAShareOfOneHalf) {
  const std::string_view reason = "share must be at least 0 and below 1/2: no rule survives more";
  EXPECT_EQ(outcome("workers = 9\nshare = 0.5"),
            "spec.toml:2: share = 0.5: " + std::string(reason));
  EXPECT_EQ(outcome("share = -0.1"), "spec.toml:1: share = -0.1: " + std::string(reason));
  EXPECT_EQ(outcome("share = 0.45"), "fine");
}

TEST(Validate, RefusesByzantineWorkersOnly) {
  EXPECT_EQ(outcome("workers = 9\nbyzantine = 10"),
            "spec.toml:2: byzantine = 10: 10 Byzantine of 9 workers leave no honest one; byzantine "
            "must be below workers");
  EXPECT_EQ(
      outcome("workers = 1"),
      "spec.toml:1: workers = 1: 1 Byzantine of 1 workers leave no honest one; byzantine must "
      "be below workers");
  EXPECT_EQ(outcome("byzantine = 8"), "fine");
}

TEST(Validate, WantsAShareExactlyWithByzantineWorkers) {
  EXPECT_EQ(outcome("byzantine = 0"),
            "spec.toml:1: byzantine = 0: without Byzantine workers nobody sends their share; set "
            "share = 0");
  EXPECT_EQ(
      outcome("share = 0"),
      "spec.toml:1: share = 0: with share = 0 the Byzantine workers never send; set byzantine "
      "= 0 too");
  EXPECT_EQ(outcome("byzantine = 0\nshare = 0"), "fine");
}

TEST(Validate, RefusesACapThatDoesNotExist) {
  EXPECT_EQ(outcome("weights = \"f-cap(2, 0.2)\""),
            "spec.toml:1: weights = \"f-cap(2, 0.2)\": no cap keeps 2 of 9 workers below a share "
            "of 0.2; use at least 10 workers, a smaller f or a larger share");
  EXPECT_THAT(outcome("weights = \"f-cap(1, 0.2) & f-cap(5, 0.45)\""),
              testing::HasSubstr("no cap keeps 5 of 9 workers below a share of 0.45"));
  EXPECT_THAT(outcome("workers = 4\n[grid]\nweights = [\"f-cap\"]"),
              testing::StartsWith("spec.toml:3: grid.weights = \"f-cap\": no cap keeps 1 of 4"));
  EXPECT_EQ(outcome("weights = \"f-cap(0, 0.2)\""),
            "spec.toml:1: weights = \"f-cap(0, 0.2)\": f must be a whole number from 1, not 0 at "
            "column 7");
  EXPECT_THAT(outcome("weights = \"f-cap(1, 0.5)\""),
              testing::EndsWith("share must be above 0 and below 1/2, not 0.5 at column 10"));
  EXPECT_THAT(outcome("weights = \"f-cup\""), testing::HasSubstr("did you mean 'f-cap'?"));
  EXPECT_EQ(outcome("weights = \"f-cap(3, 0.3)\"\nworkers = 10"), "fine");
  EXPECT_EQ(outcome("weights = \"f-cap(1, 0.2) & f-cap(4, 0.45)\""), "fine");
}

TEST(Validate, WantsACapForItsShare) {
  EXPECT_EQ(outcome("rule = \"ctma(gm, {cap_share})\""),
            "spec.toml:1: rule = \"ctma(gm, {cap_share})\": {cap_share} is the share of a cap, and "
            "weights = \"count\" has none; \"f-cap(1, 0.2)\" has");
  EXPECT_EQ(outcome("rule = \"ctma(gm, {cap_share})\"\nweights = \"f-cap(1, 0.2)\""), "fine");
}

TEST(Validate, PointsAtTheCharacterOfARuleThatIsWrong) {
  EXPECT_EQ(outcome("rule = \"ctma(gm, )\""),
            "spec.toml:1: rule = \"ctma(gm, )\": expected a number or a name after ',' at column "
            "10");
  EXPECT_THAT(outcome("rule = \"gmm\""), testing::HasSubstr("did you mean 'gm'?"));
}

TEST(Validate, RefusesARuleThatCannotTakeSoManyRows) {
  EXPECT_THAT(outcome("workers = 200\nrule = \"mda(0.4)\""),
              testing::StartsWith("spec.toml:2: rule = \"mda(0.4)\": "));
}

TEST(Validate, NamesTheNearestNameWhereOneIsUnknown) {
  EXPECT_EQ(outcome("data = \"minst\""),
            "spec.toml:1: data = \"minst\": data must be one of: mnist, fashion-mnist, cifar10, "
            "files; did you mean 'mnist'?");
  EXPECT_EQ(outcome("model = \"mlpp\""),
            "spec.toml:1: model = \"mlpp\": model must be one of: mnist-cnn, cifar10-cnn, softmax, "
            "mlp, FILE.pt; did you mean 'mlp'?");
  EXPECT_THAT(
      outcome("attack = \"sing-flip\""),
      testing::EndsWith("there is no attack 'sing-flip'; did you mean 'sign-flip'? at column 1"));
}

TEST(Validate, RefusesAModelForOtherImages) {
  EXPECT_EQ(outcome("data = \"cifar10\"\nmodel = \"mnist-cnn\""),
            "spec.toml:2: model = \"mnist-cnn\": the model mnist-cnn does not take the images of "
            "cifar10; leave model out, or take softmax or mlp");
  EXPECT_THAT(outcome("data = \"fashion-mnist\"\nmodel = \"cifar10-cnn\""),
              testing::StartsWith("spec.toml:2: model"));
  EXPECT_EQ(outcome("data = \"cifar10\"\nmodel = \"mlp\""), "fine");
  EXPECT_EQ(outcome("data = \"fashion-mnist\""), "fine");
}

struct BadLine {
  std::string_view text;  // the last line is wrong, and its key is the one to blame
  std::string_view reason;
};

TEST(Validate, RefusesNumbersOutOfRange) {
  constexpr BadLine kBadLines[] = {
      {"updates = 0", "updates must be from 1 to 1000000000000"},
      {"evaluate_every = 0", "evaluate_every must be from 1 to 1000000000000"},
      {"batch = 0", "batch must be from 1 to 1000000"},
      {"workers = 0", "workers must be from 1 to 100000"},
      {"workers = 100001", "workers must be from 1 to 100000"},
      {"model = \"mlp\"\nhidden = 0", "hidden must be from 1 to 1000000"},
      {"partition = \"dirichlet\"\ndirichlet_alpha = 0",
       "dirichlet_alpha must be from 1e-06 to 1000000"},
      {"partition = \"shards\"\nshards_per_worker = 0", "shards_per_worker must be from 1 to 1000"},
      {"attack = \"gaussian(-1)\"", "sigma must be at least 0, not -1 at column 10"},
      {"attack = \"mimic(8)\"",
       "the target of mimic must be below 8, the number of honest workers, not 8"},
      {"arrivals = \"burst(0)\"", "length must be a whole number from 1, not 0 at column 7"},
      {"compute_time = \"lognormal(9)\"",
       "sigma must be at least 0 and at most 3, not 9 at column 11"},
      {"eta = 0", "eta must be above 0"},
      {"eta_decay_after = [5]\neta_decay_factor = -0.1", "eta_decay_factor must be above 0"},
      {"beta = 1.5", "beta must be from 0 to 1, or \"1/k\""},
      {"gamma = 0", "gamma must be above 0 and at most 1"},
      {"optimizer = \"momentum\"\nmomentum = 1", "momentum must be at least 0 and below 1"},
      {"projection = \"ball\"\nball_radius = 0", "ball_radius must be above 0"},
      {"projection = \"box\"\nbox_low = 2",
       "the box from 2 to 1 is empty; box_low must be below box_high"},
  };
  for (const auto& [text, reason] : kBadLines) {
    const std::string_view line = text.substr(text.find('\n') + 1);
    const int number = line.size() == text.size() ? 1 : 2;
    EXPECT_EQ(outcome(text), "spec.toml:" + std::to_string(number) + ": " + std::string(line) +
                                 ": " + std::string(reason));
  }
}

TEST(Validate, DoesNotLookAtKeysThatDoNotMatter) {
  EXPECT_EQ(outcome("alpha = \"t\"\ngamma = 0"), "fine");
  EXPECT_EQ(outcome("optimizer = \"sgd\"\nbeta = 2"), "fine");
  EXPECT_EQ(outcome("momentum = 3"), "fine");
}

TEST(Validate, RefusesArrivalsThatDoNotFitTheClock) {
  EXPECT_EQ(
      outcome("clock = \"virtual\"\narrivals = \"round-robin\""),
      "spec.toml:2: arrivals = \"round-robin\": with clock = \"virtual\" arrivals are speeds: "
      "uniform, id, id^2 or flood");
  EXPECT_EQ(outcome("arrivals = \"trace\""),
            "spec.toml:1: arrivals = \"trace\": arrivals = \"trace\" needs a file; set trace = "
            "\"FILE\"");
  EXPECT_EQ(outcome("clock = \"virtual\"\narrivals = \"id^2\""), "fine");
}

TEST(Validate, BlamesTheEntryOfTheGrid) {
  EXPECT_THAT(outcome("share = 0.1\n[grid]\nshare = [\n  0.4,\n  0.6,\n]"),
              testing::StartsWith("spec.toml:5: grid.share = 0.6: share must be"));
}

TEST(Validate, BlamesTheLineOfTheCurve) {
  EXPECT_THAT(outcome("[[curve]]\nlabel = \"a\"\n[[curve]]\nlabel = \"b\"\nbeta = 3"),
              testing::StartsWith("spec.toml:5: beta = 3: beta must be"));
}

TEST(Validate, BlamesTheOverride) {
  auto spec = parse_spec("share = 0.1", "spec.toml");
  ASSERT_TRUE(spec.has_value());
  ASSERT_TRUE(apply_override(*spec, "share=0.6").has_value());

  const auto runs = expand(*spec);

  ASSERT_FALSE(runs.has_value());
  EXPECT_THAT(runs.error().message, testing::StartsWith("--set share=0.6: share must be"));
}

TEST(Validate, NamesTheKeyWithoutAnOrigin) {
  assembly::RunSpec run = resolve(assembly::RunSpec());
  run.share = 0.6;

  const auto status = validate(run);

  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, testing::StartsWith("share = 0.6: share must be"));
}

class Files : public testing::Test {
 protected:
  void create(std::string_view name) const { std::ofstream(folder_ / name) << "x"; }

  std::string expand_error(std::string_view text) const {
    const auto spec = parse_spec(text, folder_ / "spec.toml");
    const auto runs = expand(spec.value());
    return runs ? "fine" : runs.error().message;
  }

  const data::TemporaryFolder temporary_ =
      std::move(data::TemporaryFolder::create(testing::TempDir()).value());
  const std::filesystem::path& folder_ = temporary_.path();
};

TEST_F(Files, MissingModelAndTraceAreErrors) {
  EXPECT_THAT(
      expand_error("model = \"own.pt\""),
      testing::AllOf(testing::HasSubstr("spec.toml:1: model = \"own.pt\": there is no file"),
                     testing::EndsWith("own.pt")));
  EXPECT_THAT(expand_error("arrivals = \"trace\"\ntrace = \"who.txt\""),
              testing::HasSubstr("spec.toml:2: trace = \"who.txt\": there is no file"));

  create("own.pt");
  create("who.txt");

  EXPECT_EQ(expand_error("model = \"own.pt\""), "fine");
  EXPECT_EQ(expand_error("arrivals = \"trace\"\ntrace = \"who.txt\""), "fine");
}

TEST_F(Files, OwnDataNeedsFourFiles) {
  const std::string three =
      "data = \"files\"\ntrain_images = \"a.npy\"\ntrain_labels = \"b.npy\"\n"
      "test_images = \"c.npy\"\n";
  for (const std::string_view name : {"a.npy", "b.npy", "c.npy"}) create(name);

  EXPECT_THAT(expand_error(three), testing::HasSubstr("spec.toml: test_labels = \"\": data = "
                                                      "\"files\" needs test_labels = "
                                                      "\"FILE.npy\""));
  EXPECT_THAT(expand_error(three + "test_labels = \"d.npy\""),
              testing::HasSubstr("spec.toml:5: test_labels = \"d.npy\": there is no file"));

  create("d.npy");

  EXPECT_EQ(expand_error(three + "test_labels = \"d.npy\""), "fine");
}

TEST_F(Files, AFolderIsNoFile) {
  std::filesystem::create_directory(folder_ / "own.pt");

  EXPECT_THAT(expand_error("model = \"own.pt\""), testing::HasSubstr("there is no file"));
}

}  // namespace
}  // namespace ballast::experiment
