#include "ballast/attacks/search_attacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "ballast/attacks/collusion_attacks.h"
#include "ballast/kernels/table_for_test.h"

namespace ballast::attacks {
namespace {

using kernels::TestTable;
using testing::ElementsAre;
using testing::FloatEq;

using Counts = std::vector<std::uint64_t>;
using Floats = std::vector<float>;

// A server that answers as the test says, and remembers what it was asked.
class FakePreview final : public ServerPreview {
 public:
  using Answer = std::function<Floats(std::span<const float>)>;
  explicit FakePreview(Answer answer) : answer_(std::move(answer)) {}

  std::span<const float> direction_after(std::span<const float> update) override {
    asked.emplace_back(update.begin(), update.end());
    direction_ = answer_(update);
    return direction_;
  }

  std::vector<Floats> asked;

 private:
  Answer answer_;
  Floats direction_;
};

// Rows (2, -4) and (6, -4) with counts 30 and 10: mean (3, -4), variance (3, 0).
TestTable two_rows() {
  TestTable table(2, 2);
  table[0] = {2.0f, -4.0f};
  table[1] = {6.0f, -4.0f};
  return table;
}

Floats sent(const AttackPointer& attack, ServerPreview& preview) {
  TestTable honest = two_rows();
  const Counts counts = {30, 10};
  Floats update = {7.0f, 7.0f};
  EXPECT_TRUE(attack->colludes() && attack->needs_preview());
  attack->collude({.honest_rows = honest.view(),
                   .honest_counts = counts,
                   .byzantine_count = 25,
                   .model = {},
                   .preview = &preview},
                  update);
  return update;
}

Floats copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

// The plain server: whatever is sent is the direction, so the largest factor does the most harm.
TEST(EmpireSearch, TakesTheLargestFactorAgainstAServerThatBelievesEverything) {
  FakePreview preview(copy_of);
  EXPECT_THAT(sent(make_empire_search({.largest = 4.0, .steps = 3}), preview),
              ElementsAre(-12.0f, 16.0f));
  EXPECT_THAT(preview.asked, ElementsAre(ElementsAre(-3.0f, 4.0f), ElementsAre(-6.0f, 8.0f),
                                         ElementsAre(-12.0f, 16.0f)));
}

// A server that ignores what is longer than 7: of the lengths 5, 10 and 20 the first counts.
TEST(EmpireSearch, TakesTheLargestFactorThatIsNotFiltered) {
  FakePreview preview([](std::span<const float> update) {
    return std::hypot(update[0], update[1]) < 7.0f ? copy_of(update) : Floats{3.0f, -4.0f};
  });
  EXPECT_THAT(sent(make_empire_search({.largest = 4.0, .steps = 3}), preview),
              ElementsAre(-3.0f, 4.0f));
}

TEST(EmpireSearch, TakesTheSmallestOfSeveralThatDoTheSameHarm) {
  FakePreview preview([](std::span<const float>) { return Floats{0.0f, 0.0f}; });
  EXPECT_THAT(sent(make_empire_search({.largest = 4.0, .steps = 3}), preview),
              ElementsAre(-3.0f, 4.0f));
}

TEST(FactorSearch, TakesTheUsualFactorWhereNothingLeadsToAStep) {
  FakePreview preview([](std::span<const float>) { return Floats{}; });
  EXPECT_THAT(sent(make_empire_search({.largest = 4.0, .steps = 3}), preview),
              ElementsAre(FloatEq(-0.3f), FloatEq(0.4f)));
  // As in collusion_attacks_test.cc: 40 honest and 25 Byzantine updates.
  EXPECT_THAT(
      sent(make_little_search({.largest = 4.0, .steps = 3}), preview),
      ElementsAre(FloatEq(static_cast<float>(3.0 - 0.8416212335729143 * std::sqrt(3.0))), -4.0f));
}

// A median that can be moved from 3 down to 1: 3 - z sqrt(3) is 2.13 for z = 1/2, 1.27 for z = 1
// and -0.46 for z = 2, the first that reaches 1; larger ones do no more harm.
TEST(LittleSearch, FindsHowFarAMedianCanBeMoved) {
  FakePreview preview([](std::span<const float> update) {
    return Floats{std::clamp(update[0], 1.0f, 10.0f), update[1]};
  });
  EXPECT_THAT(sent(make_little_search({.largest = 8.0, .steps = 5}), preview),
              ElementsAre(FloatEq(static_cast<float>(3.0 - 2.0 * std::sqrt(3.0))), -4.0f));
}

// The twin: every factor of the grid by hand, over random rows and servers.
TEST(FactorSearch, IsTheBestOfTheWholeGrid) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    TestTable honest = kernels::make_table(kernels::Filling::kNormal, 4, 6, seed);
    const Counts counts = {1, 2, 3, 4};
    const float limit = 0.5f + static_cast<float>(seed) / 10.0f;
    FakePreview preview([limit](std::span<const float> update) {
      Floats clipped = copy_of(update);
      for (float& value : clipped) value = std::fmod(value, limit);
      return clipped;
    });
    AdversaryView view{.honest_rows = honest.view(), .honest_counts = counts, .model = {}};
    Floats mean(6), expected, trial(6);
    make_empire(-1.0)->collude(view, mean);
    double most = -1.0;
    for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
      make_empire(factor)->collude(view, trial);
      const double harm = harm_of(trial, mean, preview).value();
      if (harm > most) expected = trial;
      most = std::max(most, harm);
    }
    view.preview = &preview;
    make_empire_search({.largest = 4.0, .steps = 5})->collude(view, trial);
    EXPECT_EQ(trial, expected);
  }
}

TEST(FactorSearch, StaysFiniteAndSendsItsOwnUpdateWhileThereAreNoHonestRows) {
  FakePreview preview(copy_of);
  const TestTable none(0, 2);
  for (const AttackPointer& attack : {make_little_search({.largest = 1e6, .steps = 32}),
                                      make_empire_search({.largest = 1e6, .steps = 32})}) {
    Floats own = {7.0f, 8.0f};
    attack->collude({.honest_rows = TestTable(none).view(),
                     .honest_counts = {},
                     .model = {},
                     .preview = &preview},
                    own);
    EXPECT_THAT(own, ElementsAre(7.0f, 8.0f));
    for (const kernels::Filling filling : kernels::kFillings) {
      TestTable hostile = kernels::make_table(filling, 3, 40, 9);
      const Counts counts = {1, 1'000'000'000, 3};
      Floats update(40, 1.0f);
      attack->collude({.honest_rows = hostile.view(),
                       .honest_counts = counts,
                       .model = {},
                       .preview = &preview},
                      update);
      for (const float value : update) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

}  // namespace
}  // namespace ballast::attacks
