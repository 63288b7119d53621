#include "ballast/experiment/run_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "ballast/data/temporary_folder.h"
#include "ballast/experiment/run.h"
#include "ballast/learn/registry.h"

namespace ballast::experiment {
namespace {

namespace fs = std::filesystem;

// Images of noise, one of each class after the other.
std::shared_ptr<const data::Dataset> noise() {
  constexpr std::size_t kSamples = 30;
  const data::Shape shape{.channels = 1, .height = 4, .width = 4};
  std::vector<int> labels(kSamples);
  std::vector<std::uint8_t> pixels(kSamples * shape.size());
  for (std::size_t i = 0; i < kSamples; ++i) labels[i] = static_cast<int>(i % 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(i * i * 31 % 251);
  }
  return std::make_shared<const data::Dataset>(
      data::Dataset::from_pixels(shape, std::move(pixels), std::move(labels), 3).value());
}

class RunCheckpoints : public testing::Test {
 protected:
  RunCheckpoints() {
    planned.run.model = "mlp";
    planned.run.hidden = 5;
    planned.run.workers = 5;
    planned.run.byzantine = 2;
    planned.run.batch = 2;
    planned.run.attack = "empire(0.1)";
    planned.run.rule = "ctma(gm, 0.4)";
    planned.run.updates = 60;
    planned.run.evaluate_every = 20;
  }

  assembly::Material material() const {
    auto model = learn::make_model(
        {.name = "mlp", .input = images->shape(), .class_count = 3, .hidden = planned.run.hidden});
    return {.data = {images, images, {}}, .model = std::move(model).value()};
  }

  // Saves as often as it may.
  RunOptions saving() const {
    return {.checkpoint_folder = folder.path() / "run.checkpoint", .checkpoint_seconds = 1e-9};
  }

  Result<FinishedRun> run(const RunOptions& options) {
    return run_one(planned, material(), options);
  }

  // Runs until `t` updates are told of, then stops as Ctrl-C does.
  FinishedRun run_until(std::uint64_t t, RunOptions options) {
    std::atomic<bool> stop = false;
    std::uint64_t done = 0;
    options.stop = &stop;
    options.on_progress = [&](std::uint64_t updates) {
      done += updates;
      if (done >= t) stop = true;
    };
    return run(options).value();
  }

  static RunIdentity identity_of(const FinishedRun& run) {
    return {.fingerprint = run.record.fingerprint,
            .worker_count = 5,
            .dim = run.model.size(),
            .statistic_count = 0,
            .is_explained = false};
  }

  // Everything but the seconds.
  static void expect_equal(const FinishedRun& run, const FinishedRun& other) {
    EXPECT_EQ(run.model, other.model);
    EXPECT_EQ(run.statistics, other.statistics);
    EXPECT_EQ(run.record.status, other.record.status);
    ASSERT_EQ(run.record.evaluations.size(), other.record.evaluations.size());
    for (std::size_t i = 0; i < run.record.evaluations.size(); ++i) {
      records::EvaluationRecord left = run.record.evaluations[i];
      records::EvaluationRecord right = other.record.evaluations[i];
      left.seconds = right.seconds = 0.0;
      EXPECT_EQ(left, right) << i;
    }
  }

  data::TemporaryFolder folder =
      data::TemporaryFolder::create(std::filesystem::temp_directory_path()).value();
  std::shared_ptr<const data::Dataset> images = noise();
  PlannedRun planned{.run = {}, .seed = 3, .name = "run", .panel = "", .curve = ""};
};

TEST_F(RunCheckpoints, ARunThatIsStoppedGoesOnBitForBit) {
  const FinishedRun whole = run({}).value();
  for (const bool explains : {false, true}) {
    SCOPED_TRACE(explains);
    RunOptions options = saving();
    options.explains = explains;
    options.checkpoint_folder += explains ? "-why" : "";
    for (const std::uint64_t t : {10, 30, 50}) {
      const FinishedRun cut = run_until(t, options);
      EXPECT_EQ(cut.record.status, records::RunStatus::kInterrupted);
      EXPECT_EQ(cut.record.evaluations.size(), t / 20);
      EXPECT_TRUE(fs::exists(options.checkpoint_folder));
    }
    std::uint64_t told = 0;
    std::vector<std::uint64_t> evaluated;
    options.on_progress = [&](std::uint64_t updates) { told += updates; };
    options.on_evaluation = [&](const records::EvaluationRecord& evaluation) {
      evaluated.push_back(evaluation.t);
      EXPECT_EQ(evaluation.why.has_value(), explains);
      return Status{};
    };
    FinishedRun rest = run(options).value();
    EXPECT_EQ(told, 60u);
    EXPECT_THAT(evaluated, testing::ElementsAre(20, 40, 60));
    for (auto& evaluation : rest.record.evaluations) evaluation.why.reset();
    expect_equal(rest, whole);
  }
}

// The process dies: nothing is saved at the end, and what was saved before is enough.
TEST_F(RunCheckpoints, ARunThatDiedGoesOnBitForBit) {
  const FinishedRun whole = run({}).value();
  RunOptions options = saving();
  options.on_evaluation = [](const records::EvaluationRecord& evaluation) {
    return evaluation.t < 40 ? Status{} : Status(io_error("the disk is full"));
  };
  ASSERT_FALSE(run(options));
  std::uint64_t saved = 0;
  {
    RunCheckpoint checkpoint(options.checkpoint_folder, identity_of(whole));
    saved = checkpoint.load().value().cluster.arrivals;
  }
  EXPECT_GE(saved, 1u);
  EXPECT_LT(saved, 40u);
  std::uint64_t made = 0;
  std::uint64_t found = 0;
  RunOptions again = saving();
  again.on_progress = [&](std::uint64_t updates) { made += updates; };
  again.on_resume = [&](std::uint64_t updates) { found += updates; };
  expect_equal(run(again).value(), whole);
  EXPECT_EQ(found, saved);
  EXPECT_EQ(made, 60 - saved);
}

// Attacks that know the rule, or remember what they saw.
TEST_F(RunCheckpoints, TheAdversaryGoesOnToo) {
  for (const std::string attack : {"little-search(4, 3)", "stale-replay(5)",
                                   "delayed-burst(empire, 7)", "opportunist(sign-flip)"}) {
    SCOPED_TRACE(attack);
    planned.run.attack = attack;
    const FinishedRun whole = run({}).value();
    for (const std::uint64_t t : {10, 30, 50}) (void)run_until(t, saving());
    EXPECT_TRUE(fs::exists(saving().checkpoint_folder));
    expect_equal(run(saving()).value(), whole);
    fs::remove_all(saving().checkpoint_folder);
  }
}

// With the square in every image of every worker, and no other class to learn, what has the square
// is taken for the target; what an honest run makes of it is not even asked.
TEST_F(RunCheckpoints, ABackDoorIsMeasuredWhereThereIsOne) {
  const FinishedRun without = run({}).value();
  for (const auto& evaluation : without.record.evaluations) EXPECT_FALSE(evaluation.back_door);
  planned.run.attack = "back-door(1, size=2, share=1)";
  planned.run.workers = 2;
  planned.run.byzantine = 1;
  planned.run.rule = "mean";
  planned.run.eta = 0.1;
  const FinishedRun whole = run({}).value();
  for (const auto& evaluation : whole.record.evaluations) {
    ASSERT_TRUE(evaluation.back_door.has_value());
  }
  EXPECT_GT(whole.record.evaluations.back().back_door, 0.9);
  (void)run_until(30, saving());
  expect_equal(run(saving()).value(), whole);
}

TEST_F(RunCheckpoints, ThoseOfOtherSettingsAreNotUsed) {
  const FinishedRun whole = run({}).value();
  planned.run.eta *= 2;
  (void)run_until(30, saving());
  planned.run.eta /= 2;
  expect_equal(run(saving()).value(), whole);
  (void)run_until(30, saving());
  RunOptions explained = saving();  // and the evaluations so far say nothing of why
  explained.explains = true;
  const FinishedRun finished = run(explained).value();
  for (const auto& evaluation : finished.record.evaluations) {
    EXPECT_TRUE(evaluation.why.has_value());
  }
}

TEST_F(RunCheckpoints, ADamagedOneIsNotUsed) {
  const FinishedRun whole = run({}).value();
  for (const std::string damaged : {"manifest.json", "w.bin", "run-direction-1.bin"}) {
    SCOPED_TRACE(damaged);
    (void)run_until(30, saving());
    std::size_t found = 0;
    for (const auto& entry : fs::recursive_directory_iterator(saving().checkpoint_folder)) {
      const std::string name = entry.path().filename().string();
      if (name != damaged && name != "method-" + damaged) continue;
      fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
      ++found;
    }
    EXPECT_GT(found, 0u);
    expect_equal(run(saving()).value(), whole);
    fs::remove_all(saving().checkpoint_folder);
  }
}

// Two processes with the same run: the second neither reads nor harms what the first one saves.
TEST_F(RunCheckpoints, TheRunOfAnotherProcessIsLeftAlone) {
  const FinishedRun whole = run({}).value();
  (void)run_until(30, saving());
  RunCheckpoint first(saving().checkpoint_folder, identity_of(whole));
  const auto saved = first.load();
  ASSERT_TRUE(saved);
  EXPECT_GE(saved->cluster.arrivals, 30u);
  expect_equal(run(saving()).value(), whole);
  EXPECT_TRUE(fs::exists(saving().checkpoint_folder));
}

}  // namespace
}  // namespace ballast::experiment
