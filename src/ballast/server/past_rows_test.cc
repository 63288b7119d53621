// Rows that are judged by their past: the method against a plain transcription of its definition,
// an example by hand, and what it is for.

#include "ballast/server/past_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/kernels/backends_for_test.h"
#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"

namespace ballast::server {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr std::size_t kWorkers = 7;
constexpr std::size_t kDim = 6;

struct Setting {
  std::string rule = "ctma(cwmed, 0.4)";
  std::uint64_t past = 8;
  std::size_t workers = kWorkers;
  std::size_t dim = kDim;
  WeightPolicy weights = CountWeights{};
  std::shared_ptr<const kernels::Backend> backend = kernels::make_cpu_backend(1);
};

// A method that is sent updates without a server around it.
class Fed {
 public:
  explicit Fed(const Setting& setting)
      : method_(make_table_method({.worker_count = setting.workers,
                                   .dim = setting.dim,
                                   .weights = setting.weights,
                                   .past = setting.past},
                                  robust::parse_rule(setting.rule).value(), setting.backend)
                    .value()) {}

  Floats send(std::uint32_t worker, const Floats& values) {
    const Answer answer = method_->on_update(
        {.worker = worker, .number = ++number_, .newest = newest_, .values = values});
    if (answer.vector == nullptr) return {};
    return kernels::values_of(*answer.vector);
  }

  Method& method() { return *method_; }

 private:
  MethodPointer method_;
  Snapshot newest_;
  std::uint64_t number_ = 0;
};

double squared_distance(const Doubles& a, const Doubles& b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

// ctma(cwmed, lambda) as its definition reads: the coefficients of the rows.
Doubles plain_ctma(const std::vector<Doubles>& rows, const Doubles& weights, double lambda) {
  double total = 0.0;
  for (const double weight : weights) total += weight;
  Doubles median(rows[0].size());
  for (std::size_t j = 0; j < median.size(); ++j) {
    std::vector<std::pair<double, double>> column;
    for (std::size_t i = 0; i < rows.size(); ++i) column.emplace_back(rows[i][j], weights[i]);
    std::ranges::sort(column);
    double sum = 0.0;
    for (std::size_t i = 0; i < column.size(); ++i) {
      sum += column[i].second;
      if (sum < total / 2) continue;
      median[j] = sum > total / 2 ? column[i].first : (column[i].first + column[i + 1].first) / 2.0;
      break;
    }
  }
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    order.emplace_back(squared_distance(rows[i], median), i);
  }
  std::ranges::sort(order);
  Doubles coefficients(rows.size());
  const double all = (1.0 - lambda) * total;
  double left = all;
  for (const auto& [distance, i] : order) {
    coefficients[i] = std::min(left, weights[i]) / all;
    left -= coefficients[i] * all;
  }
  return coefficients;
}

// Of any other rule the coefficients are those of a table that sees these rows for the first time.
Doubles coefficients_of(const std::string& rule, const std::vector<Doubles>& rows,
                        const Doubles& weights, std::uint64_t draw) {
  if (rule == "ctma(cwmed, 0.4)") return plain_ctma(rows, weights, 0.4);
  if (rule == "mean") return plain_ctma(rows, weights, 0.0);
  robust::RowTable table(robust::parse_rule(rule).value(), kernels::make_reference_backend(),
                         rows.size(), rows[0].size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(table.put(i, Floats(rows[i].begin(), rows[i].end()), weights[i]).has_value());
  }
  const auto found = table.coefficients(draw).value();
  return {found.begin(), found.end()};
}

// The definition in double precision, or with a mistake in it.
class PlainPast {
 public:
  PlainPast(std::string rule, std::uint64_t past, std::string mistake)
      : rule_(std::move(rule)), past_(static_cast<double>(past)), mistake_(std::move(mistake)) {}

  Doubles send(std::uint32_t worker, const Doubles& row) {
    ++number_;
    if (x_.empty()) x_.resize(row.size());
    Kept& kept = kept_[worker];
    kept.row = row;
    kept.k += 1.0;
    kept.average.resize(row.size());
    double r = std::max(1.0 / past_, 1.0 / kept.k);
    if (mistake_ == "no growing average") r = 1.0 / past_;
    if (mistake_ == "never forgets") r = 1.0 / kept.k;
    const Doubles& x = mistake_ == "no direction" ? zeros(row.size()) : x_;
    for (std::size_t j = 0; j < row.size(); ++j) {
      kept.average[j] = (1.0 - r) * kept.average[j] + r * (row[j] - x[j]);
    }
    std::vector<Doubles> averages;
    Doubles weights;
    for (const auto& [who, entry] : kept_) {
      if (entry.row.empty()) continue;
      averages.push_back(mistake_ == "judges latest rows" ? entry.row : entry.average);
      weights.push_back(entry.k - entry.k_forgotten);
    }
    const Doubles c = coefficients_of(rule_, averages, weights, number_);
    const Doubles before = std::exchange(x_, zeros(row.size()));
    std::size_t i = 0;
    for (const auto& [who, entry] : kept_) {
      if (entry.row.empty()) continue;
      const Doubles& along = mistake_ == "steps along the past" ? entry.average : entry.row;
      for (std::size_t j = 0; j < row.size(); ++j) x_[j] += c[i] * along[j];
      ++i;
    }
    Doubles direction = x_;
    if (mistake_ == "direction before the last") x_ = std::exchange(older_, direction);
    if (x_.empty()) x_ = before;
    return direction;
  }

  void remove(std::uint32_t worker) {
    if (mistake_ != "remembers those that left") {
      kept_.erase(worker);
    } else if (kept_.contains(worker)) {
      kept_[worker].row.clear();
      kept_[worker].k_forgotten = kept_[worker].k;
    }
  }

 private:
  struct Kept {
    Doubles row;
    Doubles average;
    double k = 0.0;
    double k_forgotten = 0.0;
  };
  static const Doubles& zeros(std::size_t size) {
    static Doubles values;
    values.assign(size, 0.0);
    return values;
  }

  std::string rule_;
  double past_;
  std::string mistake_;
  std::map<std::uint32_t, Kept> kept_;
  Doubles x_;
  Doubles older_;
  std::uint64_t number_ = 0;
};

// The first update of a drawn run at which the method and its twin differ, or none.
std::optional<int> first_difference(const Setting& setting, const std::string& mistake) {
  Fed fed(setting);
  PlainPast plain(setting.rule, setting.past, mistake);
  Rng rng({.seed = 5});
  for (int update = 0; update < 400; ++update) {
    const auto worker = static_cast<std::uint32_t>(rng.below(setting.workers));
    if (rng.below(25) == 0) {
      fed.method().remove(worker);
      plain.remove(worker);
    }
    Floats row(setting.dim);
    for (float& value : row) value = static_cast<float>(2.0 + rng.normal());
    row[0] += static_cast<float>(worker);  // so that some are judged worse than others
    const Floats direction = fed.send(worker, row);
    const Doubles expected = plain.send(worker, {row.begin(), row.end()});
    for (std::size_t j = 0; j < setting.dim; ++j) {
      if (!(std::abs(direction[j] - expected[j]) <= 1e-4)) return update;
    }
  }
  return std::nullopt;
}

class PastRules : public testing::TestWithParam<std::string> {};

TEST_P(PastRules, AgreeWithTheDefinition) {
  for (const kernels::BackendKind& kind : kernels::backend_kinds()) {
    for (const std::uint64_t past : {1u, 8u, 50u}) {
      const Setting setting{.rule = GetParam(), .past = past, .backend = kind.make(2)};
      EXPECT_EQ(first_difference(setting, ""), std::nullopt) << kind.name << " past " << past;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, PastRules,
                         testing::Values("ctma(cwmed, 0.4)", "mean", "gm", "krum(0.3)", "mda(0.3)",
                                         "nnm(gm, 0.3)", "distinct(ctma(gm, 0.3))", "cge(0.3)",
                                         "bucketing(gm, 2)", "unweighted(ctma(gm, 0.3))",
                                         "ctma(cwtm(0.2), 0.2)", "cclip(gm, 1)"),
                         [](const auto& which) { return "Case" + std::to_string(which.index); });

TEST(PastDefinition, IsToldFromEveryMistake) {
  for (const char* mistake :
       {"no growing average", "never forgets", "no direction", "judges latest rows",
        "steps along the past", "direction before the last", "remembers those that left"}) {
    EXPECT_NE(first_difference({}, mistake), std::nullopt) << mistake;
  }
}

// Weights are equal, past=2, and ctma keeps two thirds of them around the median of the averages.
TEST(TableWithAPast, ByHand) {
  Fed fed(
      {.rule = "ctma(cwmed, 1/3)", .past = 2, .workers = 3, .dim = 1, .weights = UniformWeights{}});
  const auto kept = [&](std::uint32_t worker) { return fed.method().worker(worker).kept; };
  EXPECT_EQ(fed.method().description(), "table(past=2)");
  // No direction yet: the average is 3.
  EXPECT_EQ(fed.send(0, {3.0f}), Floats{3.0f});
  // 5 - 3 = 2. Both lie 1/2 from their median; the first is kept whole, of the second a third.
  EXPECT_EQ(fed.send(1, {5.0f}), Floats{3.5f});
  // 9.5 - 3.5 = 6. The median of 3, 2 and 6 is 3: out with 6, and half of 3 + 5 remains.
  EXPECT_EQ(fed.send(2, {9.5f}), Floats{4.0f});
  EXPECT_EQ(kept(2), 0.0);
  // (3 + 7 - 4) / 2 = 3 as before, so that it is a step along the mean of 7 and 5.
  EXPECT_EQ(fed.send(0, {7.0f}), Floats{6.0f});
  // (6 + 4 - 6) / 2 = 2. Of 3, 2 and 2 the first is out: the mean of 5 and 4.
  EXPECT_EQ(fed.send(2, {4.0f}), Floats{4.5f});
  EXPECT_EQ(kept(0), 0.0);
  // (2 - 2 - 4.5) / 2 = -2.25, where the mean of three would be -5/6: the newest counts half.
  EXPECT_EQ(fed.send(2, {-2.0f}), Floats{6.0f});
  EXPECT_EQ(kept(2), 0.0);
  // It leaves and comes back as a newcomer: 9 - 6 = 3. Of 3, 2 and 3 the second is out.
  fed.method().remove(2);
  EXPECT_EQ(fed.send(2, {9.0f}), Floats{8.0f});
  EXPECT_EQ(kept(1), 0.0);
}

TEST(TableWithAPast, OfNoneIsTheTable) {
  Fed past({.past = 0});
  EXPECT_EQ(past.method().description(), "table");
  for (const NamedNumbers& numbers : past.method().state().numbers) EXPECT_NE(numbers.name, "past");
}

// What it is for. Honest rows lie at distance 1 from the truth, which moves, in directions of their
// own; liars always at 0.9 in the same one. No look at one table tells them: they are the nearest.
double kept_of_liars(std::uint64_t past) {
  constexpr std::uint32_t kHonest = 6, kLiars = 3;
  constexpr int kUpdates = 2000, kMeasured = 500;
  Setting setting{.rule = "ctma(gm, 0.4)",
                  .past = past,
                  .workers = kHonest + kLiars,
                  .dim = 60,
                  .weights = UniformWeights{}};
  Fed fed(setting);
  Rng rng({.seed = 8});
  double sum = 0.0;
  for (int update = 0; update < kUpdates; ++update) {
    const auto worker = static_cast<std::uint32_t>(rng.below(setting.workers));
    Doubles noise(setting.dim);
    for (double& value : noise) value = rng.normal();
    const double length = std::sqrt(squared_distance(noise, Doubles(setting.dim)));
    Floats row(setting.dim);
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double truth = std::sin(0.001 * update + static_cast<double>(j));
      const double lie = j == 0 ? 0.9 : 0.0;
      row[j] = static_cast<float>(truth + (worker < kHonest ? noise[j] / length : lie));
    }
    fed.send(worker, row);
    if (update < kUpdates - kMeasured) continue;
    for (std::uint32_t liar = kHonest; liar < setting.workers; ++liar) {
      sum += fed.method().worker(liar).kept / kLiars / kMeasured;
    }
  }
  return sum;
}

TEST(TableWithAPast, FindsALieWithinTheNoise) {
  EXPECT_GT(kept_of_liars(0), 0.99);
  EXPECT_LT(kept_of_liars(50), 0.01);
}

// Differences of finite floats can be twice the largest one.
TEST(TableWithAPast, StaysFiniteWhateverComes) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (const kernels::BackendKind& kind : kernels::backend_kinds()) {
    for (const char* rule : {"gm", "ctma(gm, 0.4)", "mean", "krum(0.3)", "nnm(mean, 0.2)"}) {
      SCOPED_TRACE(kind.name + " " + rule);
      Fed fed({.rule = rule, .past = 3, .backend = kind.make(1)});
      Rng rng({.seed = 4});
      for (int update = 0; update < 200; ++update) {
        const auto worker = static_cast<std::uint32_t>(rng.below(kWorkers));
        const float sign = rng.below(2) == 0 ? 1.0f : -1.0f;
        for (const float value : fed.send(worker, Floats(kDim, sign * kMax))) {
          ASSERT_TRUE(std::isfinite(value)) << "update " << update;
        }
        for (const NamedVectorView& vector : fed.method().state().vectors) {
          for (const float value : vector.values) ASSERT_TRUE(std::isfinite(value)) << vector.name;
        }
      }
    }
  }
}

TEST(TableWithAPast, RefusesRulesWithoutCoefficients) {
  for (const char* text :
       {"cwmed", "cwtm(0.2)", "meamed(0.2)", "bulyan(0.2)", "previous", "cclip(previous, 1)",
        "clip(gm, 1)", "nnm(cwmed, 0.2)", "distinct(cwmed)"}) {
    const auto make = [&](std::uint64_t past) {
      return make_table_method({.worker_count = 3, .dim = 2, .past = past},
                               robust::parse_rule(text).value(), kernels::make_cpu_backend(1));
    };
    EXPECT_TRUE(make(0).has_value()) << text;
    const auto refused = make(30);
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_THAT(refused.error().message, testing::HasSubstr(std::string("take ctma(") + text));
  }
}

MethodState copy_of(const MethodStateView& view) {
  MethodState state{.numbers = view.numbers, .vectors = {}};
  for (const NamedVectorView& vector : view.vectors) {
    state.vectors.push_back(
        {vector.name, vector.revision, {vector.values.begin(), vector.values.end()}});
  }
  return state;
}

TEST(TableWithAPast, RefusesTheStateOfAnother) {
  const std::vector<std::uint64_t> counts(kWorkers, 100);
  const auto state_of = [](std::uint64_t past) {
    Fed fed({.past = past});
    for (std::uint32_t worker : {0u, 1u, 0u, 2u}) fed.send(worker, Floats(kDim, 1.0f));
    return copy_of(fed.method().state());
  };
  const auto error_of = [&](MethodState state, std::uint64_t past) {
    Fed fed({.past = past});
    const Status is_restored = fed.method().restore(std::move(state), counts);
    return is_restored ? std::string() : is_restored.error().message;
  };
  EXPECT_EQ(error_of(state_of(8), 8), "");
  EXPECT_EQ(error_of(state_of(0), 8), "the state is one of table, not of table(past=8)");
  EXPECT_EQ(error_of(state_of(8), 0), "the state is one of table(past=8), not of table");
  EXPECT_EQ(error_of(state_of(8), 9), "the state is one of table(past=8), not of table(past=9)");
  MethodState without = state_of(8);
  std::erase_if(without.vectors, [](const NamedVector& vector) { return vector.name == "past-1"; });
  EXPECT_EQ(error_of(without, 8), "the record of worker 1 contradicts itself");
  MethodState stranger = state_of(8);
  stranger.vectors.push_back({"past-5", 1, Floats(kDim)});
  EXPECT_EQ(error_of(stranger, 8), "the record of worker 5 contradicts itself");
}

// The memory budget of a server counts them: a row more per worker, and a few of its own.
TEST(TableWithAPast, TellsWhatItKeepsBesideTheRows) {
  EXPECT_EQ(Fed({.past = 0}).method().further_vectors(), 0u);
  EXPECT_EQ(Fed({.past = 3}).method().further_vectors(), kWorkers + 7);
}

// On a device the averages go through host memory, each once; nothing else does.
TEST(TableWithAPast, ReadsOneRowBackFromADevicePerUpdate) {
  const auto device = std::make_shared<const kernels::DeviceBackend>();
  Fed fed({.rule = "gm", .backend = device});
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    fed.send(worker, Floats(kDim, static_cast<float>(worker)));
  }
  Snapshot newest;
  const Floats values(kDim, 1.0f);
  const std::size_t before = device->traffic().values_read;
  fed.method().on_update({.worker = 3, .number = 50, .newest = newest, .values = values});
  EXPECT_EQ(device->traffic().values_read - before, kDim);
}

// What the metrics of a run look at: the direction that was taken, not one worked out again.
TEST(TableWithAPast, TellsTheDirectionOfItsLastAnswer) {
  for (const std::uint64_t past : {std::uint64_t{0}, std::uint64_t{8}}) {
    Fed fed({.rule = "bucketing(gm, 2)", .past = past, .dim = 2});
    EXPECT_TRUE(fed.method().last_direction().empty()) << "before the first";
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      const auto value = static_cast<float>(worker);
      const Floats taken = fed.send(worker, {value, value * value});
      const std::span<const float> told = fed.method().last_direction();
      EXPECT_EQ(Floats(told.begin(), told.end()), taken) << "past " << past;
    }
  }
}

}  // namespace
}  // namespace ballast::server
