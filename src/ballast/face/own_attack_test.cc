// An attack of the caller's own remembers, tries its lies and chooses its time as those of the
// library do.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ballast/face/attack_adapter.h"
#include "ballast/face/test_parts.h"
#include "ballast/sim/schedule.h"
#include "ballast/sim/test_cluster.h"
#include "ballast/simulation.h"

namespace ballast::face {
namespace {

using Vector = std::vector<float>;
using AttackPointer = std::shared_ptr<const Attack>;

constexpr std::size_t kDelay = 3;

Simulation simulation_with(AttackPointer attack) {
  return {.honest = 3,
          .byzantine = 2,
          .share = 0.4,
          .arrivals = "id",
          .updates = 60,
          .seed = 5,
          .sources = {std::make_shared<Bowl>(Vector{2.0f, -1.0f, 0.5f})},
          .attack = std::move(attack)};
}

Training training_with(const std::string& rule, const std::string& method = "table") {
  return {.start = Vector(3),
          .optimizer = {.kind = OptimizerKind::kSgd, .eta = 0.25},
          .rule = rule,
          .named_method = method};
}

Vector model_after(AttackPointer attack, const std::string& rule = "gm") {
  return *simulate(training_with(rule), simulation_with(std::move(attack))).value().model.values;
}

// Hands everything on to another attack, through both sides of the face.
class Wrapped final : public Attack {
 public:
  explicit Wrapped(AttackPointer attack) : attack_(std::move(attack)) {}

  Result<std::vector<int>> label_map(int class_count) const override {
    return attack_->label_map(class_count);
  }
  Status change_update(const SampleKey& key, std::span<float> update) const override {
    return attack_->change_update(key, update);
  }
  bool colludes() const override { return attack_->colludes(); }
  bool needs_preview() const override { return attack_->needs_preview(); }
  bool chooses_time() const override { return attack_->chooses_time(); }
  MemoryNames remembers() const override { return attack_->remembers(); }
  Status collude(const AdversaryView& view, std::span<float> update) const override {
    return attack_->collude(view, update);
  }
  Result<bool> holds(const AdversaryView& view, std::span<const float> update) const override {
    return attack_->holds(view, update);
  }
  Status watch(std::span<const float> update, AttackMemory& memory) const override {
    return attack_->watch(update, memory);
  }

 private:
  AttackPointer attack_;
};

TEST(OwnAttack, IsShownAllThatAnAttackOfTheLibrarySees) {
  const Vector honest = model_after(parse_attack("none").value());
  for (const std::string text :
       {"sign-flip", "empire(0.5)", "mimic(2)", "min-max", "little-search", "empire-search",
        "stale-replay(3)", "stale-replay(3, own)", "delayed-burst(empire, 4)", "ambush(little, 1)",
        "opportunist(sign-flip, 1.2, 5)"}) {
    const AttackPointer attack = parse_attack(text).value();
    const Vector direct = model_after(attack);
    EXPECT_NE(direct, honest) << text;
    EXPECT_EQ(model_after(std::make_shared<Wrapped>(attack)), direct) << text;
  }
}

// "stale-replay(3)" once more: a ring of the last four honest updates.
class Replay final : public Attack {
 public:
  bool colludes() const override { return true; }
  MemoryNames remembers() const override { return {.numbers = {"seen"}, .vectors = {"update"}}; }
  Status watch(std::span<const float> update, AttackMemory& memory) const override {
    const auto seen = static_cast<std::size_t>(memory.number("seen"));
    memory.keep("update", update, seen % (kDelay + 1));
    memory.set_number("seen", static_cast<double>(seen + 1));
    return {};
  }
  Status collude(const AdversaryView& view, std::span<float> update) const override {
    const auto seen = static_cast<std::size_t>(view.memory->number("seen"));
    const std::size_t oldest = seen <= kDelay ? 0 : seen % (kDelay + 1);
    std::ranges::copy(view.memory->vector("update", oldest), update.begin());
    return {};
  }
};

// "delayed-burst(sign-flip, 4)" once more.
class Burst final : public Attack {
 public:
  Status change_update(const SampleKey& /*key*/, std::span<float> update) const override {
    for (float& value : update) value = -value;
    return {};
  }
  MemoryNames remembers() const override { return {.numbers = {"left"}}; }
  bool chooses_time() const override { return true; }
  Result<bool> holds(const AdversaryView& view, std::span<const float> /*update*/) const override {
    double left = view.memory->number("left");
    if (left == 0.0 && view.held_count >= 4) left = 4.0;
    if (left > 0.0) view.memory->set_number("left", left - 1.0);
    return left == 0.0;
  }
};

TEST(OwnAttack, RemembersAndWaitsAsTheLibraryDoes) {
  EXPECT_EQ(model_after(std::make_shared<Replay>()),
            model_after(parse_attack("stale-replay(3)").value()));
  EXPECT_EQ(model_after(std::make_shared<Burst>()),
            model_after(parse_attack("delayed-burst(sign-flip, 4)").value()));
}

TEST(OwnAttack, RemembersOneRunAndNotAnother) {
  std::vector<double> counts;
  auto attack = std::make_shared<ToldAttack>();
  attack->on_remembers = [] { return MemoryNames{.numbers = {"sent"}}; };
  attack->on_collude = [&](const AdversaryView& view, std::span<float> update) -> Status {
    counts.push_back(view.memory->number("sent"));
    view.memory->set_number("sent", counts.back() + 1.0);
    update[0] += static_cast<float>(counts.back());
    return {};
  };
  const Vector alone = model_after(attack);
  const std::vector<double> expected = std::exchange(counts, {});
  ASSERT_GT(expected.size(), 10u);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(expected[i], i);

  // A second run in the midst of the first.
  std::optional<Vector> inner;
  std::vector<double> of_inner;
  Simulation outer = simulation_with(attack);
  outer.observer = [&](const ArrivalFacts& facts) {
    if (facts.t == 30) {
      const std::vector<double> before = std::exchange(counts, {});
      inner = model_after(attack);
      of_inner = std::exchange(counts, before);
    }
    return true;
  };
  const auto result = simulate(training_with("gm"), outer).value();
  EXPECT_EQ(*result.model.values, alone);
  EXPECT_EQ(inner, alone);
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(of_inner, expected);
}

// What the server did, beside what it was said to do.
TEST(OwnAttack, TheServerDoesWhatThePreviewSaid) {
  for (const auto& [rule, method] :
       {std::pair{"mean", "table"}, std::pair{"ctma(gm, 0.4)", "table"},
        std::pair{"bucketing(cwmed, 2)", "table"}, std::pair{"gm", "table(past=4)"},
        std::pair{"distinct(ctma(gm, 0.4), 0.3)", "table(past=4)"}, std::pair{"mean", "fedbuff(3)"},
        std::pair{"mean", "basgd(2, cwmed)"}, std::pair{"mean", "kardam(1)"}}) {
    SCOPED_TRACE(std::string(rule) + " " + method);
    Vector said, before(3);
    bool has_tried = false;
    auto attack = std::make_shared<ToldAttack>();
    attack->on_needs_preview = [] { return true; };
    attack->on_collude = [&](const AdversaryView& view, std::span<float> update) -> Status {
      for (float& value : update) value *= -3.0f;
      Vector other(update.begin(), update.end());
      other[1] = 40.0f;
      view.preview->direction_after(other);  // a trial leaves no trace
      const auto direction = view.preview->direction_after(update);
      said.assign(direction.begin(), direction.end());
      has_tried = true;
      other[1] = std::numeric_limits<float>::infinity();
      EXPECT_TRUE(view.preview->direction_after(other).empty());
      return {};
    };
    int steps = 0, rests = 0;
    Simulation simulation = simulation_with(attack);
    simulation.observer = [&](const ArrivalFacts& facts) {
      if (std::exchange(has_tried, false)) {
        EXPECT_EQ(facts.has_stepped, !said.empty());
        ++(said.empty() ? rests : steps);
        for (std::size_t j = 0; j < said.size(); ++j) {
          EXPECT_NEAR((*facts.newest.values)[j], before[j] - 0.25f * said[j], 1e-5);
        }
      }
      before = *facts.newest.values;
      return true;
    };
    const auto result = simulate(training_with(rule, method), simulation);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_GT(steps + rests, 10);
    EXPECT_EQ(rests == 0, std::string(method).starts_with("table"));
    EXPECT_GT(steps, 0);
  }
}

TEST(OwnAttack, SeesWhoSendsAndWhoCameLast) {
  std::optional<std::uint32_t> last_honest;
  std::size_t senders[2] = {0, 0};
  std::size_t held_max = 0;
  auto attack = std::make_shared<ToldAttack>();
  attack->on_holds = [&](const AdversaryView& view, std::span<const float>) -> Result<bool> {
    held_max = std::max(held_max, view.held_count);
    return view.last_honest != 1u;
  };
  attack->on_collude = [&](const AdversaryView& view, std::span<float>) -> Status {
    EXPECT_EQ(view.last_honest, last_honest);
    if (view.sender < 2) ++senders[view.sender];
    EXPECT_EQ(view.held_count, 1u);
    return {};
  };
  Simulation simulation = simulation_with(attack);
  std::vector<bool> is_byzantine;
  simulation.observer = [&](const ArrivalFacts& facts) {
    if (!facts.is_byzantine) last_honest = facts.worker;
    is_byzantine.push_back(facts.is_byzantine);
    return true;
  };
  const auto result = simulate(training_with("cwmed"), simulation).value();
  EXPECT_EQ(senders[0] + senders[1], result.byzantine_arrivals);
  EXPECT_GT(std::min(senders[0], senders[1]), 0u);
  EXPECT_GT(held_max, 1u);

  // Who waits for ever comes at the end.
  attack->on_holds = [](const auto&, auto) -> Result<bool> { return true; };
  is_byzantine.clear();
  const auto late = simulate(training_with("cwmed"), simulation).value();
  EXPECT_EQ(late.byzantine_arrivals, result.byzantine_arrivals);
  EXPECT_TRUE(std::ranges::is_sorted(is_byzantine));
}

TEST(OwnAttack, AMemoryThatNobodyUsesChangesNothing) {
  const auto plain = std::make_shared<ToldAttack>();
  auto named = std::make_shared<ToldAttack>();
  named->on_remembers = [] { return MemoryNames{.numbers = {"a"}, .vectors = {"b"}}; };
  EXPECT_EQ(model_after(named), model_after(plain));

  // Who names nothing remembers nothing and has nothing to watch for.
  auto nameless = std::make_shared<ToldAttack>();
  nameless->on_remembers = [] { return MemoryNames{}; };
  nameless->on_watch = [](auto, auto&) -> Status { return invalid_argument("watched"); };
  EXPECT_EQ(model_after(nameless), model_after(plain));
}

TEST(OwnAttack, AMemoryByHandHasNamesAndPlaces) {
  const auto memory = make_attack_memory({.numbers = {"a", "b"}, .vectors = {"v", "w"}}).value();
  EXPECT_EQ(memory->number("a"), 0.0);
  EXPECT_TRUE(memory->vector("v").empty());
  memory->set_number("b", 2.0);
  memory->set_number("a", 7.0, 5);
  memory->keep("w", Vector{1, 2, 3});
  memory->keep("v", Vector{4}, 3);
  // Of its own values, also into the same place.
  memory->keep("w", memory->vector("w").subspan(1));
  memory->keep("v", memory->vector("w"), 9);
  const auto values = [&](const char* name, std::size_t place) {
    const auto kept = memory->vector(name, place);
    return Vector(kept.begin(), kept.end());
  };
  EXPECT_EQ(memory->number("a"), 0.0);
  EXPECT_EQ(memory->number("b"), 2.0);
  EXPECT_EQ(memory->number("a", 5), 7.0);
  EXPECT_EQ(memory->number("b", 5), 0.0);
  EXPECT_EQ(memory->number("b", kMemoryPlacesMax - 1), 0.0);
  EXPECT_EQ(values("w", 0), (Vector{2, 3}));
  EXPECT_EQ(values("v", 3), (Vector{4}));
  EXPECT_EQ(values("v", 9), (Vector{2, 3}));
  EXPECT_TRUE(values("w", 9).empty());
  EXPECT_TRUE(memory->status().has_value());

  // The first mistake stays, and nothing is remembered of it.
  memory->set_number("a", std::numeric_limits<double>::infinity(), 5);
  memory->set_number("c", 1.0);
  EXPECT_EQ(memory->number("a", 5), 7.0);
  ASSERT_FALSE(memory->status().has_value());
  EXPECT_NE(memory->status().error().message.find("\"a\""), std::string::npos);
}

TEST(OwnAttack, NoTwoPlacesOfAMemoryAreOne) {
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto memory = make_attack_memory({.numbers = names, .vectors = names}).value();
  const auto value_of = [&](std::size_t name, std::size_t place) {
    return static_cast<float>(10 * name + place + 1);
  };
  for (std::size_t place = 6; place-- > 0;) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      memory->set_number(names[k], value_of(k, place), place);
      memory->keep(names[k], Vector{value_of(k, place)}, place);
    }
  }
  for (std::size_t place = 0; place < 6; ++place) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      EXPECT_EQ(memory->number(names[k], place), value_of(k, place));
      EXPECT_EQ(memory->vector(names[k], place)[0], value_of(k, place));
    }
  }
}

// Keeps the state of a run after each arrival.
class KeepAll final : public sim::CheckpointSink {
 public:
  bool is_due() override { return true; }
  Status save(const sim::ClusterStateView& view) override {
    sim::ClusterState state{.arrivals = view.arrivals,
                            .byzantine_arrivals = view.byzantine_arrivals,
                            .server = server::copy(view.server),
                            .workers = view.workers,
                            .adversary = {.updates = {},
                                          .counts = view.adversary.counts,
                                          .last_honest = view.adversary.last_honest,
                                          .memory = *view.adversary.memory},
                            .held = view.held};
    for (const auto& update : view.adversary.updates) {
      state.adversary.updates.emplace_back(update.begin(), update.end());
    }
    states.push_back(std::move(state));
    return {};
  }

  std::vector<sim::ClusterState> states;
};

std::vector<sim::Arrival> draw_arrivals() {
  return sim::draw_arrivals(sim::ScheduleOptions{.kind = sim::ScheduleKind::kId,
                                                 .workers = {.honest = 3, .byzantine = 2},
                                                 .share = 0.4,
                                                 .seed = 11},
                            40)
      .value();
}

TEST(OwnAttack, GoesOnFromACheckpointOfTheRun) {
  const auto arrivals = draw_arrivals();
  for (const AttackPointer& attack :
       {AttackPointer(std::make_shared<Replay>()), AttackPointer(std::make_shared<Burst>()),
        AttackPointer(std::make_shared<Wrapped>(parse_attack("opportunist").value()))}) {
    KeepAll all;
    sim::TestCluster whole({});
    const AttackAdapter adapter(*attack);
    whole.attack = &adapter;
    whole.checkpoints = &all;
    ASSERT_TRUE(whole.run(arrivals).has_value());
    const auto& seen = whole.recorder().seen;
    for (sim::ClusterState& state : all.states) {
      SCOPED_TRACE(state.arrivals);
      const auto before = static_cast<std::ptrdiff_t>(state.arrivals);
      sim::TestCluster second({});
      const AttackAdapter anew(*attack);
      second.attack = &anew;
      ASSERT_TRUE(second.go_on(arrivals, std::move(state)).has_value());
      EXPECT_EQ(second.recorder().seen, std::vector(seen.begin() + before, seen.end()));
      EXPECT_TRUE(anew.status().has_value());
    }
    EXPECT_TRUE(adapter.status().has_value());
  }
}

TEST(OwnAttack, RefusesAMemoryThatIsNotItsOwn) {
  const Replay replay;
  const AttackAdapter adapter(replay);
  const attacks::MemoryShape shape{.dim = 3, .byzantine_workers = 2};
  EXPECT_TRUE(adapter.check_memory({}, shape).has_value());
  EXPECT_TRUE(adapter.check_memory({.numbers = {1.0}}, shape).has_value());
  const Burst burst;
  const AttackAdapter of_burst(burst);
  EXPECT_FALSE(of_burst.check_memory({.vectors = {{}}}, shape).has_value());
  ToldAttack two;
  two.on_remembers = [] { return MemoryNames{.numbers = {"a", "b"}}; };
  EXPECT_FALSE(AttackAdapter(two).check_memory({.numbers = {1, 2, 3}}, shape).has_value());
  const ToldAttack none;
  EXPECT_FALSE(AttackAdapter(none).check_memory({.numbers = {1}}, shape).has_value());
}

}  // namespace
}  // namespace ballast::face
