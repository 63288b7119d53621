#pragma once
// A tiny contest and hand-made records for this room's tests.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/arena/contest_spec.h"
#include "ballast/experiment/grid.h"
#include "ballast/experiment/tiny_data_for_test.h"
#include "ballast/records/records.h"

namespace ballast::arena {

inline void write_tiny_data(const std::filesystem::path& folder) {
  experiment::write_tiny_data(folder, 60);
}

// Two worlds, two attacks, three methods, of which one cannot be run in the second world.
inline constexpr std::string_view kTinyContest = R"toml(
name = "tiny"
data = "files"
train_images = "x.npy"
train_labels = "y.npy"
test_images = "x.npy"
test_labels = "y.npy"
updates = 20
evaluate_every = 20
batch = 4
seeds = [1, 2]
[grid]
attack = ["none", "sign-flip"]
[arena]
title = "Tiny"
recommended = "table"
[arena.search]
eta = [0.1, 0.5]
validation_samples = 20
attacks = ["sign-flip"]
panels = ["one liar"]
seeds = [9]
[[arena.size]]
name = "quick"
set = ["updates=10", "seeds=[1]", "grid.attack=['none']"]
panels = ["one liar"]
search = { eta = [0.5] }
[[panel]]
label = "one liar"
workers = 5
share = 0.3
[[panel]]
label = "two of five"
workers = 5
byzantine = 2
share = 0.3
clock = "virtual"
partition = "dirichlet"
[[curve]]
label = "table"
needs = "share"
rule = "ctma(gm, {share})"
[[curve]]
label = "asgd"
method = "asgd"
optimizer = "sgd"
[[curve]]
label = "kardam"
needs = "f"
method = "kardam({f})"
optimizer = "sgd"
not_in = ["two of five"]
)toml";

// The best two of the contest before, in one world.
inline constexpr std::string_view kNextContest = R"toml(
name = "next"
data = "files"
train_images = "x.npy"
train_labels = "y.npy"
test_images = "x.npy"
test_labels = "y.npy"
updates = 10
evaluate_every = 10
batch = 4
seeds = [1, 2]
workers = 5
share = 0.3
[grid]
attack = ["sign-flip"]
[arena]
title = "Next"
best = 2
[arena.search]
eta = [0.5]
validation_samples = 20
attacks = ["none"]
panels = ["one liar"]
seeds = [9]
[[panel]]
label = "one liar"
)toml";

inline ContestSpec tiny_contest(const std::filesystem::path& folder,
                                std::string_view text = kTinyContest) {
  auto contest = parse_contest(text, folder / "tiny.toml");
  EXPECT_TRUE(contest.has_value()) << (contest ? "" : contest.error().message);
  return contest.value_or(ContestSpec());
}

// What a run with this final accuracy leaves.
inline records::RunRecord record_of(const experiment::PlannedRun& planned, double accuracy) {
  return {.run = planned.name,
          .panel = planned.panel,
          .curve = planned.curve,
          .seed = planned.seed,
          .evaluations = {{.t = 20, .test_accuracy = accuracy, .seconds = 0.05}},
          .gradient_seconds = 0.03,
          .total_seconds = 0.1};
}

}  // namespace ballast::arena
