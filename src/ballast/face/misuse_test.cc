// Mistakes of a caller, all in one process: each is an error, and the process goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ballast/attack.h"
#include "ballast/face/test_parts.h"
#include "ballast/parameter_server.h"
#include "ballast/rules.h"
#include "ballast/simulation.h"
#include "ballast/table.h"
#include "ballast/worker.h"

namespace ballast::face {
namespace {

using testing::HasSubstr;
using Vector = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();

std::span<const float> null_values(std::size_t size) {
  return {static_cast<const float*>(nullptr), size};
}

template <typename T>
void expect_error(const Result<T>& result, const std::string& part) {
  ASSERT_FALSE(result.has_value()) << "an error about: " << part;
  EXPECT_THAT(result.error().message, HasSubstr(part));
}

// Leaves an object that was moved from.
template <typename T>
T take(T& object) {
  return std::move(object);
}

TEST(Misuse, OfTheShortFormIsAnError) {
  const std::vector<Vector> rows = {{1, 2}, {3, 4}, {5, 6}};
  const std::vector<double> weights = {1, 1, 1};
  expect_error(aggregate("", rows, weights), "rule");
  expect_error(aggregate("ctma(gm", rows, weights), "");
  expect_error(aggregate("gn", rows, weights), "gm");
  expect_error(aggregate("gm", {}, {}), "nothing to aggregate");
  expect_error(aggregate("gm", rows, {}), "weights");
  expect_error(aggregate("gm", rows, std::vector<double>{1, 0, 1}), "");
  expect_error(aggregate("gm", rows, std::vector<double>{1, std::nan(""), 1}), "");
  expect_error(aggregate("gm", std::vector<Vector>{{1, 2}, {3}}, std::vector<double>{1, 1}),
               "row 1");
  expect_error(aggregate("gm", std::vector<Vector>{{}, {}}, std::vector<double>{1, 1}),
               "nothing to aggregate");
  expect_error(aggregate("gm", std::vector<Vector>{{1, kNan}}, std::vector<double>{1}), "row 0");
  expect_error(aggregate("gm", {static_cast<const Vector*>(nullptr), 2}, weights), "null");
  expect_error(aggregate({static_cast<const char*>(nullptr), 2}, rows, weights), "null");
  expect_error(Rule::parse({static_cast<const char*>(nullptr), 2}), "null");
  expect_error(Rule::parse(std::string(100'000, '(')), "");
}

TEST(Misuse, OfTheLongFormIsAnError) {
  auto rule = Rule::parse("ctma(gm, 0.4)").value();
  auto aggregator = Aggregator::make(rule).value();
  Vector memory = {1, 2, 3, 4, 5, 6};
  const std::vector<std::span<const float>> rows = {std::span(memory).first(2),
                                                    std::span(memory).subspan(2, 2)};
  const std::vector<double> weights = {1, 1};
  Vector out(2);
  expect_error(aggregator.aggregate(rows, weights, std::span(out).first(1)), "room for 1");
  expect_error(aggregator.aggregate(rows, std::vector<double>{1}, out), "weights");
  expect_error(aggregator.aggregate(rows, weights, std::span(memory).subspan(3, 2)), "row 1");
  expect_error(aggregator.aggregate(std::vector{null_values(2), null_values(2)}, weights, out),
               "null");
  expect_error(aggregator.aggregate(rows, weights, {static_cast<float*>(nullptr), 2}), "null");
  expect_error(aggregator.aggregate({}, {}, out), "nothing to aggregate");
  EXPECT_TRUE(aggregator.aggregate(rows, weights, out).has_value());

  expect_error(Aggregator::make(rule, {.device = "abacus"}), "abacus");
  expect_error(Aggregator::make(rule, {.threads = kHuge}), "threads");
  const Aggregator moved = take(aggregator);
  expect_error(aggregator.aggregate(rows, weights, out), "moved from");
  const Rule gone = take(rule);
  EXPECT_EQ(rule.text(), "");
  expect_error(rule.check_row_count(3), "moved from");
  expect_error(Aggregator::make(rule), "moved from");
  expect_error(gone.check_row_count(0), "no rows");
}

TEST(Misuse, OfATableIsAnErrorAndChangesNothing) {
  const Rule rule = Rule::parse("cwmed").value();
  expect_error(RowTable::make(rule, 0, 2), "0 rows");
  expect_error(RowTable::make(rule, 2, 0), "0 values");
  expect_error(RowTable::make(rule, kHuge, 2), "rows");
  expect_error(RowTable::make(rule, 2, kHuge), "values");
  auto table = RowTable::make(rule, 3, 2).value();
  expect_error(table.aggregate(), "");
  expect_error(table.put(3, Vector{1, 2}, 1.0), "past the last");
  expect_error(table.put(kHuge, Vector{1, 2}, 1.0), "past the last");
  expect_error(table.put(0, Vector{1}, 1.0), "1 values");
  expect_error(table.put(0, null_values(2), 1.0), "null");
  expect_error(table.put(0, Vector{1, kInfinity}, 1.0), "infinity");
  expect_error(table.put(0, Vector{1, 2}, 0.0), "positive");
  expect_error(table.put(0, Vector{1, 2}, std::nan("")), "positive");
  expect_error(table.set_weight(0, 1.0), "does not exist");
  expect_error(table.row(0), "does not exist");
  EXPECT_EQ(table.row_count(), 0u);
  EXPECT_TRUE(table.remove(kHuge).has_value());
  ASSERT_TRUE(table.put(1, Vector{1, 2}, 1.0).has_value());
  EXPECT_TRUE(table.aggregate().has_value());

  const RowTable moved = take(table);
  expect_error(table.put(1, Vector{1, 2}, 1.0), "moved from");
  expect_error(table.aggregate(), "moved from");
  EXPECT_FALSE(table.has(1));
  EXPECT_EQ(table.row_count(), 0u);
  EXPECT_TRUE(table.report().kept.empty());
  EXPECT_TRUE(moved.has(1));
}

TEST(Misuse, OfTheServerInProcessIsAnError) {
  expect_error(ParameterServer::make(0, {.start = {1, 2}}), "0 workers");
  expect_error(ParameterServer::make(kHuge, {.start = {1, 2}}), "workers");
  expect_error(ParameterServer::make(2, {.start = {}}), "empty");
  expect_error(ParameterServer::make(2, {.start = {kNan}}), "finite");
  expect_error(ParameterServer::make(2, {.start = {1}, .rule = "x"}), "x");
  expect_error(ParameterServer::make(2, {.start = {1}, .weights = "x"}), "x");
  expect_error(ParameterServer::make(2, {.start = {1}, .named_method = "x"}), "x");
  expect_error(ParameterServer::make(2, {.start = {1}, .named_method = "basgd(5)"}), "5 buffers");
  expect_error(ParameterServer::make(2, {.start = {1}, .named_method = "basgdm(1)"}), "momentum");
  expect_error(ParameterServer::make(2, {.start = {1}, .named_method = "zeno++"}), "gradient");
  expect_error(ParameterServer::make(2, {.start = {1}, .optimizer = {.eta = -1}}), "eta");
  expect_error(ParameterServer::make(2, {.start = {1}, .compute = {.device = "x"}}), "x");

  auto server = ParameterServer::make(2, {.start = {1, 2}}).value();
  expect_error(server.update(0, Vector{1, 2}), "join");
  expect_error(server.join(2), "no worker 2");
  expect_error(server.worker(99), "no worker 99");
  ASSERT_TRUE(server.join(0).has_value());
  expect_error(server.update(1, Vector{1, 2}), "join");
  expect_error(server.update(0, null_values(2)), "null");
  EXPECT_EQ(server.update(0, Vector{1})->verdict, Verdict::kWrongShape);
  EXPECT_EQ(server.update(0, Vector{1, kNan})->verdict, Verdict::kNotFinite);
  EXPECT_EQ(server.update(0, Vector{1, 2}, Vector{1})->verdict, Verdict::kWrongShape);
  EXPECT_EQ(server.update(0, Vector{1, 1})->verdict, Verdict::kAccepted);
  ASSERT_TRUE(server.leave(0).has_value());
  expect_error(server.update(0, Vector{1, 2}), "join");

  const ParameterServer moved = take(server);
  expect_error(server.join(0), "moved from");
  expect_error(server.update(0, Vector{1, 2}), "moved from");
  expect_error(server.model(), "moved from");
  EXPECT_EQ(server.accepted_count(), 0u);
  EXPECT_EQ(name_of(static_cast<Verdict>(200)), "unknown");
}

// A method that answers once as told.
Result<UpdateOutcome> answer_of(ToldMethod::Tell tell) {
  Training training{.start = {1, 2}, .method = std::make_unique<ToldMethod>(std::move(tell))};
  BALLAST_TRY(auto server, ParameterServer::make(1, std::move(training)));
  BALLAST_TRY_STATUS(server.join(0));
  auto outcome = server.update(0, Vector{1, 1});
  // A fault stays: there is no telling what state it has left the method in.
  if (!outcome) {
    EXPECT_FALSE(server.update(0, Vector{1, 1}).has_value());
    EXPECT_EQ(server.model()->version, 0u);
  }
  return outcome;
}

TEST(Misuse, ByAMethodIsAnErrorOfTheCallThatFoundIt) {
  const Vector direction = {1, 1, 1};
  expect_error(answer_of([&](const auto&) { return Answer::along(direction); }), "3 values");
  expect_error(answer_of([&](const auto&) { return Answer::along({}); }), "0 values");
  expect_error(answer_of([&](const auto&) { return Answer::along(null_values(2)); }), "2 values");
  expect_error(
      answer_of([&](const auto& update) { return Answer::along(update.values, std::nan("")); }),
      "scaled");
  expect_error(answer_of([](const auto&) -> Answer { throw std::runtime_error("my bug"); }),
               "my bug");
  expect_error(answer_of([](const auto&) -> Answer { throw 7; }), "no std::exception");
  EXPECT_EQ(answer_of([](const auto&) { return Answer::refused(); })->verdict, Verdict::kFiltered);
  EXPECT_FALSE(answer_of([](const auto&) { return Answer::nothing(); })->has_stepped);
  // A direction that is not finite is not a bug but a training that has left the rails.
  const Vector wild = {kNan, 1};
  EXPECT_FALSE(answer_of([&](const auto&) { return Answer::along(wild); })->has_stepped);
}

TEST(Misuse, ByAScheduleTakesNoStep) {
  Training training{.start = {1}};
  training.optimizer.schedule = [](std::uint64_t) -> double { throw std::runtime_error("late"); };
  auto server = ParameterServer::make(1, std::move(training)).value();
  ASSERT_TRUE(server.join(0).has_value());
  EXPECT_FALSE(server.update(0, Vector{1})->has_stepped);
}

class BrokenSource final : public GradientSource {
 public:
  std::size_t dim() const override { return 2; }
  Result<double> gradient(std::span<const float> /*model*/, const Sample& sample,
                          std::span<float> out, std::span<float> /*statistics*/) override {
    if (sample.key.step == 1) throw std::out_of_range("no such sample");
    out[0] = kNan;
    return 0.0;
  }
};

class EmptySource final : public GradientSource {
 public:
  std::size_t dim() const override { return 0; }
  Result<double> gradient(std::span<const float> /*model*/, const Sample& /*sample*/,
                          std::span<float> /*out*/, std::span<float> /*statistics*/) override {
    return 0.0;
  }
};

TEST(Misuse, OfAWorkerIsAnError) {
  expect_error(Worker::make({}, nullptr), "no gradient source");
  expect_error(Worker::make({}, std::make_shared<EmptySource>()), "no values");
  const auto bowl = std::make_shared<Bowl>(Vector{1, 2});
  expect_error(Worker::make({.optimizer = {.kind = OptimizerKind::kMomentum, .momentum = 2}}, bowl),
               "");
  auto worker = Worker::make({}, bowl).value();
  expect_error(worker.update(Vector{1}), "1 values");
  expect_error(worker.update(null_values(2)), "null");
  expect_error(worker.update(Vector{1, kNan}), "finite");
  EXPECT_TRUE(worker.update(Vector{1, 2}).has_value());
  const Worker moved = take(worker);
  expect_error(worker.update(Vector{1, 2}), "moved from");
  expect_error(worker.start_anew(), "moved from");

  auto broken = Worker::make({}, std::make_shared<BrokenSource>()).value();
  expect_error(broken.update(Vector{1, 2}), "no such sample");
}

Simulation small_simulation() {
  return {.honest = 3,
          .byzantine = 1,
          .share = 0.25,
          .updates = 20,
          .sources = {std::make_shared<Bowl>(Vector{1, 2})}};
}

void expect_simulation_error(const Simulation& simulation, const std::string& part) {
  expect_error(simulate({.start = {0, 0}}, simulation), part);
}

TEST(Misuse, OfASimulationIsAnError) {
  Simulation simulation = small_simulation();
  EXPECT_TRUE(simulate({.start = {0, 0}}, simulation).has_value());
  expect_error(simulate({.start = {0}}, simulation), "values");
  expect_error(simulate({.start = {}}, simulation), "empty");
  (simulation = small_simulation()).honest = 0;
  expect_simulation_error(simulation, "0 honest");
  (simulation = small_simulation()).honest = kHuge;
  expect_simulation_error(simulation, "workers");
  (simulation = small_simulation()).share = 1.5;
  expect_simulation_error(simulation, "1.5");
  (simulation = small_simulation()).arrivals = "sometimes";
  expect_simulation_error(simulation, "sometimes");
  (simulation = small_simulation()).updates = 0;
  expect_simulation_error(simulation, "no updates");
  (simulation = small_simulation()).updates = kHuge;
  expect_simulation_error(simulation, "");
  (simulation = small_simulation()).threads = 0;
  expect_simulation_error(simulation, "threads");
  (simulation = small_simulation()).threads = 2;
  expect_simulation_error(simulation, "share a gradient source");
  (simulation = small_simulation()).sources.clear();
  expect_simulation_error(simulation, "0 gradient sources");
  (simulation = small_simulation()).sources = {nullptr};
  expect_simulation_error(simulation, "no gradient source");
  (simulation = small_simulation()).sources = {std::make_shared<BrokenSource>()};
  expect_simulation_error(simulation, "no such sample");
  (simulation = small_simulation()).observer = [](const ArrivalFacts&) -> bool {
    throw std::runtime_error("seen enough");
  };
  expect_simulation_error(simulation, "seen enough");
}

class BrokenAttack final : public Attack {
 public:
  explicit BrokenAttack(int where) : where_(where) {}
  Result<std::vector<int>> label_map(int /*class_count*/) const override {
    if (where_ == 0) throw std::runtime_error("labels");
    return where_ == 1 ? std::vector<int>{7} : std::vector<int>{};
  }
  Status change_update(const SampleKey& /*key*/, std::span<float> update) const override {
    if (where_ == 2) throw std::runtime_error("change");
    if (where_ == 3) return invalid_argument("change by hand");
    if (where_ == 4) update[0] = kNan;
    return {};
  }
  bool colludes() const override { return true; }
  Status collude(const AdversaryView& /*view*/, std::span<float> /*update*/) const override {
    if (where_ == 5) throw std::runtime_error("collusion");
    return {};
  }

 private:
  int where_;
};

TEST(Misuse, ByAnAttackIsAnErrorOfTheSimulation) {
  const char* parts[] = {"labels", "label map", "change", "change by hand", "", "collusion"};
  for (int where : {0, 1, 2, 3, 5}) {
    Simulation simulation = small_simulation();
    simulation.attack = std::make_shared<BrokenAttack>(where);
    expect_simulation_error(simulation, parts[where]);
  }
  // To send what is not finite is no mistake but an attack, and the server refuses it.
  Simulation simulation = small_simulation();
  simulation.attack = std::make_shared<BrokenAttack>(4);
  const auto result = simulate({.start = {0, 0}}, simulation);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->accepted + result->byzantine_arrivals, result->arrivals);
}

TEST(Misuse, OfALibraryAttackByHandIsAnError) {
  expect_error(parse_attack("empire("), "");
  expect_error(parse_attack("emperor"), "");
  expect_error(parse_attack({static_cast<const char*>(nullptr), 2}), "null");
  const auto attack = parse_attack("empire(0.1)").value();
  Vector update = {1, 2};
  const std::vector<std::uint64_t> counts = {1};
  const Vector honest = {1, 2};
  const Vector shorter = {1};
  const Vector spoilt = {1, kNan};
  const auto collude = [&](std::span<const float> row, std::span<const std::uint64_t> of) {
    const std::vector<std::span<const float>> rows = {row};
    return attack->collude({.honest_rows = rows, .honest_counts = of, .model = {}}, update);
  };
  EXPECT_TRUE(collude(honest, counts).has_value());
  expect_error(collude(shorter, counts), "honest row 0");
  expect_error(collude(spoilt, counts), "honest row 0");
  expect_error(collude(null_values(2), counts), "honest row 0");
  expect_error(collude(honest, {}), "0 counts");
  expect_error(collude(honest, std::vector<std::uint64_t>{0}), "honest row 0");
  expect_error(attack->change_update({}, {static_cast<float*>(nullptr), 2}), "null");
}

// Answers every update with the same direction.
class FixedPreview final : public ServerPreview {
 public:
  explicit FixedPreview(std::span<const float> direction) : direction_(direction) {}
  std::span<const float> direction_after(std::span<const float> /*update*/) override {
    if (direction_.size() == 7) throw std::runtime_error("no server");
    return direction_;
  }

 private:
  std::span<const float> direction_;
};

TEST(Misuse, OfAPreviewOrAMemoryByHandIsAnError) {
  const Vector honest = {1, 2};
  const std::vector<std::span<const float>> rows = {honest};
  const std::vector<std::uint64_t> counts = {1};
  Vector update = {1, 2};
  AdversaryView view{.honest_rows = rows, .honest_counts = counts, .model = {}};

  const auto search = parse_attack("little-search").value();
  expect_error(search->collude(view, update), "preview");
  for (const Vector& direction : {Vector{1}, Vector{1, kNan}, Vector{1, 2, 3}, Vector(7)}) {
    FixedPreview preview(direction);
    view.preview = &preview;
    expect_error(search->collude(view, update),
                 direction.size() == 7 ? "no server" : "the preview answered");
  }
  FixedPreview null_preview(null_values(2));
  view.preview = &null_preview;
  expect_error(search->collude(view, update), "the preview answered");
  FixedPreview good(honest);
  view.preview = &good;
  EXPECT_TRUE(search->collude(view, update).has_value());

  const auto replay = parse_attack("stale-replay(3, own)").value();
  expect_error(replay->collude(view, update), "remembers");
  const auto other = make_attack_memory({.numbers = {"other"}}).value();
  view.memory = other.get();
  expect_error(replay->collude(view, update), "remembers");
  const auto memory = make_attack_memory(replay->remembers()).value();
  view.memory = memory.get();
  view.sender = kHuge;
  expect_error(replay->collude(view, update), "sender");
  view.sender = 1;
  EXPECT_TRUE(replay->collude(view, update).has_value());
  Vector longer = {1, 2, 3};
  expect_error(replay->watch(longer, *memory), "memory");
  expect_error(replay->watch(null_values(2), *memory), "null");
  memory->set_number(replay->remembers().numbers[0], 1e18, 1);
  expect_error(replay->collude(view, update), "memory");

  const auto burst = parse_attack("delayed-burst(sign-flip, 2)").value();
  view.memory = nullptr;
  expect_error(burst->holds(view, update), "remembers");
  expect_error(burst->holds(view, Vector{1, kNan}), "finite");
}

// An own attack that stumbles in one of its hooks ends the simulation, and nothing else.
template <typename Prepare>
void expect_attack_error(const Prepare& prepare, const std::string& part) {
  auto attack = std::make_shared<ToldAttack>();
  attack->on_collude = [](const auto&, auto) { return Status{}; };
  prepare(*attack);
  Simulation simulation = small_simulation();
  simulation.attack = attack;
  expect_simulation_error(simulation, part);
}

TEST(Misuse, ByAnyHookOfAnOwnAttackEndsTheSimulation) {
  const auto names = [] { return MemoryNames{.numbers = {"seen"}, .vectors = {"row"}}; };
  const auto fail = []() -> Error { throw std::runtime_error("my bug"); };
  const auto broken = [&](ToldAttack& attack) { attack.on_remembers = names; };
  expect_attack_error([&](auto& attack) { attack.on_needs_preview = [&] { return fail(), true; }; },
                      "my bug");
  expect_attack_error(
      [&](auto& attack) { attack.on_remembers = [&] { return fail(), MemoryNames{}; }; }, "my bug");
  expect_attack_error(
      [&](auto& attack) {
        broken(attack);
        attack.on_watch = [&](auto, auto&) -> Status { return fail(), Status{}; };
      },
      "my bug");
  expect_attack_error(
      [&](auto& attack) {
        broken(attack);
        attack.on_watch = [](auto, auto&) -> Status { return invalid_argument("by hand"); };
      },
      "by hand");
  expect_attack_error(
      [&](auto& attack) {
        attack.on_holds = [&](const auto&, auto) -> Result<bool> { return fail(), true; };
      },
      "my bug");
  expect_attack_error(
      [&](auto& attack) { attack.on_holds = [](const auto&, auto) -> Result<bool> { throw 7; }; },
      "no std::exception");
  expect_attack_error(
      [&](auto& attack) {
        attack.on_holds = [](const auto&, auto) -> Result<bool> {
          return invalid_argument("by hand");
        };
      },
      "by hand");
}

void expect_collude_error(std::function<void(const AdversaryView&, std::span<float>)> collude,
                          const std::string& part, bool asks = true) {
  expect_attack_error(
      [&](ToldAttack& attack) {
        attack.on_needs_preview = [=] { return asks; };
        if (asks) attack.on_remembers = [] { return MemoryNames{{"seen"}, {"row"}}; };
        attack.on_collude = [=](const AdversaryView& view, std::span<float> update) {
          collude(view, update);
          return Status{};
        };
      },
      part);
}

TEST(Misuse, OfWhatAnOwnAttackIsShownEndsTheSimulation) {
  expect_collude_error([](auto& view, auto) { view.preview->direction_after(Vector(3)); },
                       "3 values");
  expect_collude_error([](auto& view, auto) { view.preview->direction_after({}); }, "0 values");
  expect_collude_error([](auto& view, auto) { view.preview->direction_after(null_values(2)); },
                       "null");
  expect_collude_error([](auto& view, auto) { view.memory->number("row"); }, "seen");
  expect_collude_error([](auto& view, auto) { view.memory->vector("seen"); }, "row");
  expect_collude_error([](auto& view, auto) { view.memory->set_number("sen", 1.0); }, "sen");
  expect_collude_error([](auto& view, auto) { view.memory->set_number("seen", std::nan("")); },
                       "nan");
  expect_collude_error([](auto& view, auto) { view.memory->number("seen", kHuge); }, "place");
  expect_collude_error([](auto& view, auto) { view.memory->keep("row", Vector{kInfinity}); },
                       "finite");
  expect_collude_error([](auto& view, auto) { view.memory->keep("row", null_values(2)); }, "null");
  // What was not asked for is not there, and says so.
  expect_collude_error([](auto& view, auto update) { view.preview->direction_after(update); },
                       "needs_preview", false);
  expect_collude_error([](auto& view, auto) { view.memory->number("seen"); }, "nothing", false);
  for (const char* name : {"", "Seen", "a b", "seen_2"}) {
    expect_attack_error(
        [&](auto& attack) { attack.on_remembers = [=] {
                              return MemoryNames{{name}, {}};
                            }; },
        "remembers");
    expect_error(make_attack_memory({.vectors = {name}}), "remembers");
  }
  expect_error(make_attack_memory({.numbers = {"seen", "seen"}}), "twice");
}

TEST(Misuse, AnAttackThatTriesItsUpdatesNeedsAServerOfTheLibrary) {
  Simulation simulation = small_simulation();
  simulation.attack = parse_attack("empire-search").value();
  EXPECT_TRUE(simulate({.start = {0, 0}}, simulation).has_value());
  simulation.attack = parse_attack("mimic(1000)").value();
  expect_simulation_error(simulation, "mimic");
  auto own = std::make_shared<ToldAttack>();
  own->on_needs_preview = [] { return true; };
  simulation.attack = own;
  EXPECT_TRUE(simulate({.start = {0, 0}}, simulation).has_value());
  Training training{.start = {0, 0}};
  training.method = std::make_unique<ToldMethod>([](const auto&) { return Answer::nothing(); });
  expect_error(simulate(std::move(training), simulation), "cannot be copied");
}

}  // namespace
}  // namespace ballast::face
