// Every method against its twin over the same updates, and the twin with a mistake against it: a
// comparison that cannot tell them apart would show nothing.

#include "ballast/methods/twins_for_test.h"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>

namespace ballast::methods {
namespace {

constexpr std::size_t kWorkers = 7;
constexpr std::size_t kDim = 5;
constexpr int kUpdates = 600;

using MakeTwin = std::unique_ptr<Twin> (*)(const std::string& mistake);

struct Case {
  std::string text;
  MakeTwin make;
  std::vector<std::string> mistakes;
};

void PrintTo(const Case& which, std::ostream* out) { *out << which.text; }

template <typename Type, auto... arguments>
std::unique_ptr<Twin> twin(const std::string& mistake) {
  return std::make_unique<Type>(mistake, kWorkers, kDim, arguments...);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"asgd", twin<AsgdTwin>, {"scale"}},
      {"delay-adaptive", twin<DelayAdaptiveTwin, 'r', kWorkers>, {"delay off by one"}},
      {"delay-adaptive(inverse, concurrency=5)",
       twin<DelayAdaptiveTwin, 'i', 5u>,
       {"delay off by one", "not inverse"}},
      {"delay-adaptive(drop, concurrency=4)",
       twin<DelayAdaptiveTwin, 'd', 4u>,
       {"delay off by one"}},
      {"picky(1.2, history=1000)", twin<PickyTwin, 1.2>, {"next model"}},
      {"fedbuff(4)", twin<FedbuffTwin, 4u>, {"weight", "divides by weights", "no reset"}},
      {"throttle(1.5, 2, 0.5)",
       twin<ThrottleTwin, 1.5, 2.0, 0.5>,
       {"keeps work in flight", "power", "old anchor", "no reset"}},
      {"kardam(1, history=1000)",
       [](const std::string& mistake) -> std::unique_ptr<Twin> {
         return std::make_unique<KardamTwin>(mistake, kWorkers, kDim, KardamTwin::Options{.f = 1});
       },
       {"quantile", "window", "forgets refused", "no escape"}},
      {"kardam(2, exponential, alpha=0.3, reference=accepted, history=1000)",
       [](const std::string& mistake) -> std::unique_ptr<Twin> {
         return std::make_unique<KardamTwin>(
             mistake, kWorkers, kDim,
             KardamTwin::Options{.f = 2,
                                 .dampening = [](double tau) { return std::exp(-0.3 * tau); },
                                 .compares_with_accepted = true});
       },
       {"quantile", "window", "no escape"}},
      {"basgd(5, cwtm(0.2))", twin<BasgdTwin, 5u, true, 0u>, {"no reset", "trims more"}},
      {"basgd(3, mean, reassign=3)",
       twin<BasgdTwin, 3u, false, 3u>,
       {"no reset", "timer", "keeps buffers"}},
      {"basgdm(5, cwtm(0.2))", twin<BasgdTwin, 5u, true, 0u>, {"no reset", "trims more"}},
      {"zeno++(0.02, 0.02, 2)",
       twin<ZenoTwin, 0.02, 0.02, 2u>,
       {"refresh", "length", "sign of epsilon", "sticks to its gradient"}},
      {"aflguard(1.1, 5)",
       twin<AflguardTwin, 1.1, 5u>,
       {"refresh", "absolute", "sticks to its gradient"}},
  };
  return all;
}

struct Tally {
  int fates[3] = {};
  std::optional<int> difference;  // the first update at which the two differ
};

Fate fate_of(const server::Outcome& outcome) {
  if (outcome.verdict == server::Verdict::kFiltered) return Fate::kRefused;
  return outcome.has_stepped ? Fate::kStepped : Fate::kCollected;
}

// The method computes in float: what it rounded while the model was large stays.
bool is_near(const Floats& model, const Doubles& twin, double& largest) {
  for (const double value : twin) largest = std::max(largest, std::abs(value));
  for (std::size_t j = 0; j < model.size(); ++j) {
    if (!(std::abs(model[j] - twin[j]) <= 2e-5 * largest)) return false;
  }
  return true;
}

Tally compare(const Case& which, const std::string& mistake) {
  MethodRun run(which.text, kWorkers, kDim);
  const std::unique_ptr<Twin> twin = which.make(mistake);
  Tally tally;
  double largest = 1.0;
  for (int i = 0; i < kUpdates && !tally.difference; ++i) {
    const Delivery delivery = run.deliver_next();
    const Fate fate = twin->on_update({.worker = delivery.worker,
                                       .version = delivery.version,
                                       .g = {delivery.values.begin(), delivery.values.end()}});
    ++tally.fates[static_cast<int>(fate)];
    if (fate != fate_of(delivery.outcome) || !is_near(run.model(), twin->x(), largest)) {
      tally.difference = i;
    }
  }
  return tally;
}

class Twins : public testing::TestWithParam<Case> {};

TEST_P(Twins, AgreeWithTheMethodUpdateByUpdate) {
  const Tally tally = compare(GetParam(), "");
  EXPECT_EQ(tally.difference, std::nullopt);
  EXPECT_GT(tally.fates[static_cast<int>(Fate::kStepped)], kUpdates / 20);
}

TEST_P(Twins, DifferWhenTheyAreWrong) {
  for (const std::string& mistake : GetParam().mistakes) {
    EXPECT_NE(compare(GetParam(), mistake).difference, std::nullopt) << mistake;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Twins, testing::ValuesIn(cases()),
                         [](const auto& which) { return "Case" + std::to_string(which.index); });

// Every method but the table has a twin here.
TEST(TwinCases, CoverTheRegistry) {
  for (const expression::Entry* entry : method_registry().catalogue().entries) {
    if (entry->name == "table") continue;
    const bool is_covered = std::ranges::any_of(cases(), [&](const Case& which) {
      return which.text.substr(0, which.text.find('(')) == entry->name;
    });
    EXPECT_TRUE(is_covered) << entry->name;
  }
}

}  // namespace
}  // namespace ballast::methods
