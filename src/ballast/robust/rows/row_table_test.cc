// The table that remembers against the stateless rules: equal after any history.

#include "ballast/robust/row_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>

#include "ballast/kernels/backends_for_test.h"
#include "ballast/robust/rules/rule_for_test.h"

namespace ballast::robust {
namespace {

constexpr const char* kExactRules[] = {"cwmed", "unweighted(cwmed)", "cwtm(0.2)", "mean"};
constexpr const char* kCloseRules[] = {
    "gm",        "ctma(gm, 0.4)", "ctma(cwmed, 0.3)", "nnm(gm, 0.2)", "nnm(cwmed, 0.2)",
    "krum(0.2)", "mda(0.3)",      "bucketing(gm, 2)", "caf(0.2)",     "smea(0.2)"};

bool is_exact(std::string_view text) {
  return std::find(std::begin(kExactRules), std::end(kExactRules), text) != std::end(kExactRules);
}

// A RowTable beside plain copies of its rows and weights.
class Twins {
 public:
  Twins(std::string text, std::size_t rows_max, std::size_t dim, std::size_t threads = 1)
      : text_(std::move(text)),
        dim_(dim),
        table_(rule(text_), kernels::make_cpu_backend(threads), rows_max, dim),
        values_(rows_max),
        weights_(rows_max, 0.0) {}

  RowTable& table() { return table_; }
  const std::vector<float>& values(std::size_t row) const { return values_[row]; }
  double weight(std::size_t row) const { return weights_[row]; }
  bool has(std::size_t row) const { return !values_[row].empty(); }

  // By turns copied and handed over.
  void put(std::size_t row, std::vector<float> values, double weight) {
    is_handed_over_ = !is_handed_over_;
    if (is_handed_over_) {
      if (buffer_.is_empty()) buffer_ = RowBuffer(dim_, values_.size() + 1);
      std::ranges::copy(values, buffer_.values().begin());
      ASSERT_TRUE(table_.put(row, buffer_, weight));
      ASSERT_EQ(buffer_.values().size(), dim_) << "there is other memory in its place";
    } else {
      ASSERT_TRUE(table_.put(row, values, weight));
    }
    values_[row] = std::move(values);
    weights_[row] = weight;
  }
  void set_weight(std::size_t row, double weight) {
    ASSERT_TRUE(table_.set_weight(row, weight));
    weights_[row] = weight;
  }
  void remove(std::size_t row) {
    table_.remove(row);
    values_[row].clear();
  }

  void expect_equal(std::uint64_t draw = 0) {
    const auto kept = table_.aggregate(draw);
    ASSERT_TRUE(kept.has_value()) << kept.error().message;
    const std::vector<float> result = kernels::values_of(**kept);
    const std::vector<float> fresh = stateless(draw);
    double scale = 0.0;
    for (const auto& row : values_) {
      for (const float value : row) scale = std::max(scale, std::abs(double{value}));
    }
    for (std::size_t j = 0; j < dim_; ++j) {
      if (is_exact(text_)) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(result[j]), std::bit_cast<std::uint32_t>(fresh[j]))
            << "coordinate " << j << ": " << result[j] << " instead of " << fresh[j];
      } else {
        ASSERT_NEAR(result[j], fresh[j], 1e-6 * scale) << "coordinate " << j;
      }
    }
  }

 private:
  std::vector<float> stateless(std::uint64_t draw) {
    static const auto backend = kernels::make_cpu_backend(1);
    std::vector<const float*> pointers;
    std::vector<double> weights;
    for (std::size_t row = 0; row < values_.size(); ++row) {
      if (!has(row)) continue;
      pointers.push_back(values_[row].data());
      weights.push_back(weights_[row]);
    }
    std::vector<float> out(dim_);
    Workspace workspace;
    const auto report = aggregate(table_.rule(), {pointers, dim_}, weights, out, *backend,
                                  workspace, {.draw = draw});
    EXPECT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report.value_or(Report{}).kept.size(), table_.report().kept.size());
    return out;
  }

  std::string text_;
  std::size_t dim_;
  RowTable table_;
  std::vector<std::vector<float>> values_;  // empty: the row does not exist
  std::vector<double> weights_;
  RowBuffer buffer_;
  bool is_handed_over_ = false;
};

std::vector<float> normal_row(std::size_t dim, Rng& rng) {
  std::vector<float> row(dim);
  for (float& value : row) value = static_cast<float>(rng.normal());
  return row;
}

// keep * old + noise * normal: (0.75, 0.66) is noisy, (1, 0.01) settled.
std::vector<float> moved(const std::vector<float>& row, double keep, double noise, Rng& rng) {
  std::vector<float> result = row;
  for (float& value : result) value = static_cast<float>(keep * value + noise * rng.normal());
  return result;
}

class RowTableTest : public testing::TestWithParam<const char*> {};

// Few rows may tie: of two equal weights any point between is a geometric median, and krum takes
// either of two mutual neighbours. Five rows of many coordinates do not.
constexpr std::size_t kRowsWithoutTies = 5;

void fill_all(Twins& twins, std::size_t row_count, std::size_t dim, Rng& rng) {
  for (std::size_t row = 0; row < row_count; ++row) {
    twins.put(row, normal_row(dim, rng), 1.0 + static_cast<double>(row));
  }
}

// A server's life: one row and its count per step; calm for a while, then wild, then calm again, so
// that what follows the median changes its ways.
TEST_P(RowTableTest, FollowsAServer) {
  constexpr std::size_t kRows = 9, kDim = 300;
  constexpr int kSteps = 400;
  for (const std::uint64_t seed : {1, 2}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    Twins twins(GetParam(), kRows, kDim);
    fill_all(twins, kRows, kDim, rng);
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      const std::size_t row = rng.below(kRows);
      const bool is_noisy = step / 100 % 2 == 1;
      twins.put(row, moved(twins.values(row), is_noisy ? 0.75 : 1.0, is_noisy ? 0.66 : 0.01, rng),
                twins.weight(row) + 1.0);
      twins.expect_equal(static_cast<std::uint64_t>(step));
      if (HasFatalFailure()) return;
    }
  }
}

// Everything that can happen, in any order: rows replaced twice between two results, weights of
// others changed, rows that leave and come back.
TEST_P(RowTableTest, FollowsAnyHistory) {
  constexpr std::size_t kRows = 8, kDim = 40;
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    Twins twins(GetParam(), kRows, kDim);
    fill_all(twins, kRows, kDim, rng);
    const std::size_t rows_min = is_exact(GetParam()) ? 1 : kRowsWithoutTies;
    for (int step = 0; step < 500; ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      const std::size_t row = rng.below(kRows);
      const std::uint64_t what = rng.below(10);
      if (!twins.has(row)) {
        twins.put(row, normal_row(kDim, rng), 1.0 + static_cast<double>(step % 5));
      } else if (what < 2 && twins.table().filled_count() > rows_min) {
        twins.remove(row);
      } else if (what == 2) {
        twins.set_weight(row, 0.5 + rng.uniform());
      } else {
        twins.put(row, moved(twins.values(row), 1.0, what == 3 ? 3.0 : 0.05, rng),
                  std::floor(twins.weight(row)) + 1.0);
      }
      if (rng.below(3) > 0) twins.expect_equal();
      if (HasFatalFailure()) return;
    }
  }
}

// Values far from the origin and from each other, with ties: the remembered products are centred
// anew on the way.
TEST_P(RowTableTest, FollowsRowsThatJump) {
  constexpr std::size_t kRows = 7, kDim = 20;
  Rng rng(5);
  Twins twins(GetParam(), kRows, kDim);
  for (int step = 0; step < 200; ++step) {
    SCOPED_TRACE(testing::Message() << "step " << step);
    const double offset = std::pow(10.0, static_cast<double>(step / 40));
    std::vector<float> row(kDim);
    for (float& value : row) {
      value = static_cast<float>(offset * (1.0 + 0.001 * static_cast<double>(rng.below(20))));
    }
    twins.put(rng.below(kRows), row, 1.0 + std::sqrt(step));  // halves of the weight never tie
    twins.expect_equal();
    if (HasFatalFailure()) return;
  }
}

// Bit for bit, over several blocks of coordinates.
TEST_P(RowTableTest, DoesNotDependOnTheNumberOfThreads) {
  constexpr std::size_t kRows = 5, kDim = 9001;
  std::vector<std::vector<float>> results[3];
  for (const std::size_t threads : {1u, 2u, 3u}) {
    Rng rng(6);
    RowTable table(rule(GetParam()), kernels::make_cpu_backend(threads), kRows, kDim);
    for (int step = 0; step < 12; ++step) {
      const std::size_t row = rng.below(kRows);
      ASSERT_TRUE(table.put(row, normal_row(kDim, rng), 1.0 + 0.1 * step));
      const auto result = table.aggregate();
      ASSERT_TRUE(result.has_value());
      results[threads - 1].push_back(kernels::values_of(**result));
    }
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

std::vector<const char*> all_rules() {
  std::vector<const char*> rules(std::begin(kExactRules), std::end(kExactRules));
  rules.insert(rules.end(), std::begin(kCloseRules), std::end(kCloseRules));
  return rules;
}
std::string letters_of(const testing::TestParamInfo<const char*>& rule_text) {
  std::string name = rule_text.param;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
}
INSTANTIATE_TEST_SUITE_P(Rules, RowTableTest, testing::ValuesIn(all_rules()), letters_of);

// On a device the results are those of its arithmetic in host memory, and no row comes back.
TEST_P(RowTableTest, LeavesItsRowsOnADevice) {
  constexpr std::size_t kRows = 7, kDim = 30;
  const auto device = std::make_shared<const kernels::DeviceBackend>();
  RowTable there(rule(GetParam()), device, kRows, kDim);
  RowTable here(rule(GetParam()), kernels::make_reference_backend(), kRows, kDim);
  Rng rng(8);
  std::size_t results_read = 0;
  for (std::size_t step = 0; step < 60; ++step) {
    SCOPED_TRACE(testing::Message() << "step " << step);
    std::vector<float> values = normal_row(kDim, rng);
    for (float& value : values) value += step > 20 ? 1e5f : 0.0f;  // moves the centre
    const std::size_t row = rng.below(kRows);
    RowBuffer buffer(kDim, step);
    std::ranges::copy(values, buffer.values().begin());
    if (step % 9 == 8) there.remove(row), here.remove(row);
    ASSERT_TRUE(there.put(row, buffer, 1.0 + static_cast<double>(step)));
    ASSERT_TRUE(here.put(row, values, 1.0 + static_cast<double>(step)));
    const auto on_device = there.aggregate(step), on_host = here.aggregate(step);
    ASSERT_TRUE(on_device && on_host);
    ASSERT_EQ(device->traffic().values_read, results_read);
    ASSERT_EQ(kernels::values_of(**on_device), kernels::values_of(**on_host));
    results_read += kDim;
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_TRUE(std::ranges::equal(there.row(row), here.row(row))) << "read back when asked for";
  }
  EXPECT_TRUE(std::ranges::equal(there.centre(), here.centre()));
}

// Rules without a primitive for their work read rows back, or begin from what lies on the device.
TEST(RowTable, OtherRulesAgreeOnADeviceAsWell) {
  constexpr std::size_t kRows = 7, kDim = 30;
  for (const char* text : {"dnc(0.2)", "dnc(0.1, iterations=3, coordinates=5)", "meamed(0.2)",
                           "bulyan(0.1)", "cclip(previous, 1, steps=2)"}) {
    SCOPED_TRACE(text);
    RowTable there(rule(text), std::make_shared<const kernels::DeviceBackend>(), kRows, kDim);
    RowTable here(rule(text), kernels::make_reference_backend(), kRows, kDim);
    Rng rng(8);
    for (std::size_t step = 0; step < 40; ++step) {
      const std::vector<float> values = normal_row(kDim, rng);
      ASSERT_TRUE(there.put(step % kRows, values, 1.0 + static_cast<double>(step)));
      ASSERT_TRUE(here.put(step % kRows, values, 1.0 + static_cast<double>(step)));
      const auto on_device = there.aggregate(step), on_host = here.aggregate(step);
      ASSERT_TRUE(on_device && on_host);
      ASSERT_EQ(kernels::values_of(**on_device), kernels::values_of(**on_host));
      EXPECT_TRUE(std::ranges::equal(there.previous_result(), here.previous_result()));
    }
  }
}

TEST(RowTable, RefusesWhatIsWrongAndStaysAsItWas) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const char* text : {"cwmed", "gm"}) {
    SCOPED_TRACE(text);
    RowTable table(rule(text), kernels::make_cpu_backend(1), 3, 2);
    const std::vector<float> good = {1.0f, 2.0f};
    ASSERT_TRUE(table.put(1, good, 2.0));
    const auto expect_refused = [&](const Status& status) {
      EXPECT_FALSE(status.has_value());
      EXPECT_EQ(table.filled_count(), 1u);
      const auto result = table.aggregate();
      ASSERT_TRUE(result.has_value());
      EXPECT_EQ(kernels::values_of(**result), good);
    };

    expect_refused(table.put(3, good, 1.0));
    expect_refused(table.put(1, std::vector<float>{1.0f}, 1.0));
    expect_refused(table.put(1, std::vector<float>{1.0f, 2.0f, 3.0f}, 1.0));
    expect_refused(table.put(1, std::vector<float>{1.0f, NAN}, 1.0));
    expect_refused(table.put(1, std::vector<float>{-kInfinity, 0.0f}, 1.0));
    expect_refused(table.put(0, std::vector<float>{kInfinity, 0.0f}, 1.0));
    for (const double weight : {0.0, -1.0, std::nan(""), double{kInfinity}}) {
      expect_refused(table.put(1, std::vector<float>{5.0f, 5.0f}, weight));
      expect_refused(table.put(0, std::vector<float>{5.0f, 5.0f}, weight));
      expect_refused(table.set_weight(1, weight));
    }
    expect_refused(table.set_weight(0, 1.0));
    expect_refused(table.set_weight(17, 1.0));
  }
}

// A refused row overwrites the memory in which the median's way of following keeps the old values.
TEST(RowTable, ARefusedBufferStaysWithItsOwner) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  RowTable table(rule("mean"), kernels::make_cpu_backend(1), 2, 3);
  RowBuffer wrong(4, 0), right(3, 1);
  std::ranges::fill(wrong.values(), 1.0f);
  EXPECT_FALSE(table.put(0, wrong, 1.0));
  std::ranges::copy(std::vector{1.0f, kInfinity, 3.0f}, right.values().begin());
  const float* const place = right.values().data();
  EXPECT_FALSE(table.put(0, right, 1.0));
  EXPECT_FALSE(table.put(0, right, 0.0));
  EXPECT_EQ(right.values().data(), place);
  EXPECT_EQ(right.values()[1], kInfinity);
  EXPECT_FALSE(table.has(0));
  right.values()[1] = 2.0f;
  ASSERT_TRUE(table.put(0, right, 1.0));
  EXPECT_EQ(table.row(0).data(), place) << "not copied";
  EXPECT_NE(right.values().data(), place);
}

TEST(RowTable, FollowsTheMedianThroughRefusedRows) {
  constexpr std::size_t kRows = 9, kDim = 200;
  const std::uint64_t seed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  Twins twins("cwmed", kRows, kDim);
  std::vector<float> poisoned(kDim, 7.0f);
  poisoned[kDim - 1] = NAN;
  for (std::size_t step = 0; step < 200; ++step) {
    const std::size_t row = step % kRows;
    std::vector<float> values = twins.has(row) ? twins.values(row) : std::vector<float>(kDim);
    for (float& value : values) value += static_cast<float>(0.05 * rng.normal());
    if (step % 3 == 0) {
      ASSERT_FALSE(twins.table().put(rng.below(kRows), poisoned, 1.0));
    }
    twins.put(row, values, static_cast<double>(10 + step));
    if (step % 5 == 0) {
      ASSERT_FALSE(twins.table().put(rng.below(kRows), poisoned, 1.0));
    }
    twins.expect_equal();
    if (testing::Test::HasFatalFailure()) return;
  }
}

// A server starts with one row, and then one that weighs more than the others.
TEST(RowTable, KeepsTheOriginAsCentreWhileFewRowsCame) {
  RowTable table(rule("gm"), kernels::make_cpu_backend(1), 3, 2);
  const std::vector<float> rows[] = {{1.0f, 0.0f}, {0.0f, 2.0f}, {-1.0f, 1.0f}};
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(table.put(i, rows[i], i == 0 ? 5.0 : 1.0));
    ASSERT_TRUE(table.aggregate().has_value());
    EXPECT_TRUE(table.centre().empty()) << "after row " << i;
  }
}

TEST(RowTable, KnowsWhichRowsExist) {
  RowTable table(rule("mean"), kernels::make_cpu_backend(1), 3, 1);
  const std::vector<float> one = {1.0f};
  EXPECT_FALSE(table.aggregate().has_value()) << "no rows, no result";

  ASSERT_TRUE(table.put(2, one, 1.0));
  EXPECT_TRUE(table.has(2));
  EXPECT_FALSE(table.has(0));
  EXPECT_FALSE(table.has(3));
  table.remove(2);
  table.remove(2);
  table.remove(99);
  EXPECT_FALSE(table.has(2));
  EXPECT_EQ(table.filled_count(), 0u);
  EXPECT_FALSE(table.aggregate().has_value());
}

TEST(RowTable, SaysWhenTheRuleCannotTakeSoManyRows) {
  RowTable table(rule("mda(0.3)"), kernels::make_cpu_backend(1), 33, 1);
  for (std::size_t row = 0; row < 32; ++row) {
    ASSERT_TRUE(table.put(row, std::vector<float>{static_cast<float>(row)}, 1.0));
  }
  EXPECT_TRUE(table.aggregate().has_value());
  ASSERT_TRUE(table.put(32, std::vector<float>{32.0f}, 1.0));
  EXPECT_FALSE(table.aggregate().has_value());
  table.remove(32);
  EXPECT_TRUE(table.aggregate().has_value());
}

TEST(RowTable, TakesTheMostExtremeWeights) {
  Twins twins("cwmed", 3, 2);
  twins.put(0, {1.0f, 2.0f}, std::numeric_limits<double>::max());
  twins.put(1, {3.0f, 4.0f}, std::numeric_limits<double>::max());
  twins.put(2, {5.0f, 6.0f}, std::numeric_limits<double>::denorm_min());
  twins.expect_equal();
}

// Centred clipping as its paper has it, from the result before and from zero at first.
brute_force::Vector clipped_from(brute_force::Vector v, const brute_force::Table& rows,
                                 const brute_force::Vector& weights, double radius) {
  brute_force::Vector next = v;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double distance = brute_force::distance(rows[i], v);
    const double part = weights[i] / brute_force::sum(weights) * std::min(1.0, radius / distance);
    for (std::size_t j = 0; j < v.size(); ++j) next[j] += part * (rows[i][j] - v[j]);
  }
  return next;
}

TEST(RowTable, BeginsFromTheResultBefore) {
  constexpr std::size_t kRows = 5, kDim = 7;
  RowTable table(rule("cclip(previous, 0.5)"), kernels::make_cpu_backend(1), kRows, kDim);
  RowTable one_row_clipped(rule("clip(cclip(previous, 0.5), 1e9)"), kernels::make_cpu_backend(1),
                           kRows, kDim);
  Case given{.rows = {}, .weights = {}};
  brute_force::Vector v(kDim, 0.0);
  EXPECT_TRUE(table.previous_result().empty());
  for (std::uint64_t update = 0; update < 60; ++update) {
    const std::size_t row = update % kRows;
    if (update < kRows) given.rows.emplace_back(), given.weights.push_back(0.0);
    given.rows[row] = draw_normal(1, kDim, update).rows[0];
    given.weights[row] += 1.0;
    const std::vector<float> values(given.rows[row].begin(), given.rows[row].end());
    ASSERT_TRUE(table.put(row, values, given.weights[row]).has_value());
    ASSERT_TRUE(one_row_clipped.put(row, values, given.weights[row]).has_value());
    v = clipped_from(v, given.rows, given.weights, 0.5);
    const std::vector<float> result = kernels::values_of(**table.aggregate());
    expect_near({result.begin(), result.end()}, v, 1e-5);
    EXPECT_EQ(kernels::values_of(**one_row_clipped.aggregate()), result);
    const std::span<const float> kept = table.previous_result();
    EXPECT_EQ(std::vector<float>(kept.begin(), kept.end()), result);
  }
}

TEST(RowTable, GoesOnFromAResultThatItIsGiven) {
  const std::vector<float> row = {4.0f, 0.0f}, before = {1.0f, 0.0f};
  RowTable table(rule("cclip(previous, 1)"), kernels::make_cpu_backend(1), 1, 2);
  ASSERT_TRUE(table.put(0, row, 1.0).has_value());
  table.set_previous_result(before);
  EXPECT_EQ(kernels::values_of(**table.aggregate()), (std::vector<float>{2.0f, 0.0f}));
  EXPECT_EQ(kernels::values_of(**table.aggregate()), (std::vector<float>{3.0f, 0.0f}));
  table.set_previous_result({});
  EXPECT_EQ(kernels::values_of(**table.aggregate()), (std::vector<float>{1.0f, 0.0f}));
}

TEST(RowTable, KeepsNoResultForRulesThatDoNotBeginFromIt) {
  RowTable table(rule("gm"), kernels::make_cpu_backend(1), 1, 1);
  ASSERT_TRUE(table.put(0, std::vector<float>{1.0f}, 1.0).has_value());
  ASSERT_TRUE(table.aggregate().has_value());
  EXPECT_TRUE(table.previous_result().empty());
}

// What aggregate() computes is the combination with what coefficients() tells, to the bit.
TEST(RowTable, CombinesWithTheCoefficientsOfTheRule) {
  constexpr std::size_t kRows = 7, kDim = 12;
  for (const char* text : {"mean",
                           "gm",
                           "gm(iterations=3, start=zero)",
                           "krum(0.2)",
                           "multikrum(0.2)",
                           "mda(0.3)",
                           "smea(0.2)",
                           "caf(0.2)",
                           "dnc(0.2)",
                           "dnc(0.2, 3, 5)",
                           "cge(0.3)",
                           "monna(0.3)",
                           "ctma(gm, 0.4)",
                           "ctma(cwmed, 0.4)",
                           "ctma(previous, 0.3)",
                           "ctma(arc(cwmed, 0.2), 0.3)",
                           "nnm(gm, 0.2)",
                           "nnm(ctma(cwmed, 0.2), 0.2)",
                           "bucketing(gm, 2)",
                           "bucketing(ctma(cwtm(0.1), 0.2), 2)",
                           "unweighted(ctma(cwmed, 0.2))",
                           "cclip(gm, 1)",
                           "distinct(ctma(gm, 0.2))",
                           "distinct(ctma(cwmed, 0.2))"}) {
    SCOPED_TRACE(text);
    ASSERT_TRUE(rule(text)->has_coefficients());
    RowTable whole(rule(text), kernels::make_cpu_backend(1), kRows, kDim);
    RowTable parts(rule(text), kernels::make_cpu_backend(1), kRows, kDim);
    EXPECT_EQ(parts.last_result(), nullptr);
    for (std::uint64_t update = 0; update < 40; ++update) {
      const std::size_t row = update * 3 % kRows;
      const std::uint64_t count = 1 + update / kRows;
      const auto weight = static_cast<double>(count);
      const Case drawn = draw_normal(1, kDim, update);
      const std::vector<float> values(drawn.rows[0].begin(), drawn.rows[0].end());
      for (RowTable* table : {&whole, &parts}) {
        ASSERT_TRUE(table->put(row, values, weight).has_value());
      }
      const std::vector<float> result = kernels::values_of(**whole.aggregate(update));
      const std::span<const double> c = parts.coefficients(update).value();
      ASSERT_EQ(c.size(), parts.filled_count());
      double sum = 0.0;
      for (const double coefficient : c) sum += coefficient;
      EXPECT_NEAR(sum, 1.0, 1e-9);
      const kernels::Vector& combined = parts.combine(c);
      EXPECT_EQ(kernels::values_of(combined), result) << "update " << update;
      EXPECT_EQ(parts.report().kept, whole.report().kept);
      EXPECT_EQ(parts.last_result(), &combined);
    }
  }
}

TEST(RowTable, KnowsWhichRulesHaveNoCoefficients) {
  for (const char* text : {"cwmed", "cwtm(0.2)", "meamed(0.2)", "bulyan(0.2)", "previous",
                           "clip(gm, 1)", "arc(gm, 0.2)", "cclip(cwmed, 1)", "nnm(cwmed, 0.2)",
                           "bucketing(cwmed, 2)", "unweighted(cwmed)", "distinct(cwmed)"}) {
    EXPECT_FALSE(rule(text)->has_coefficients()) << text;
  }
}

TEST(RowTable, CopiesARowForTheBackend) {
  const auto backend = kernels::make_cpu_backend(1);
  RowTable table(nullptr, kernels::make_cpu_backend(1), 4, 2);
  ASSERT_TRUE(table.put(1, std::vector<float>{1.0f, 2.0f}, 1.0).has_value());
  ASSERT_TRUE(table.put(3, std::vector<float>{3.0f, 4.0f}, 1.0).has_value());
  const auto out = backend->make_vector(2);
  table.copy_row(3, *out);
  EXPECT_EQ(kernels::values_of(*out), (std::vector<float>{3.0f, 4.0f}));
}

// By hand: the median of (3, 4), (0, 0) and (6, 8) is (3, 4).
TEST(RowTable, MeasuresRowsFromTheOriginAndFromTheResult) {
  RowTable table(rule("cwmed"), kernels::make_cpu_backend(1), 5, 2);
  EXPECT_TRUE(table.measure().empty());
  ASSERT_TRUE(table.put(0, std::vector<float>{3.0f, 4.0f}, 1.0));
  ASSERT_TRUE(table.put(2, std::vector<float>{0.0f, 0.0f}, 1.0));
  ASSERT_TRUE(table.put(4, std::vector<float>{6.0f, 8.0f}, 1.0));
  EXPECT_EQ(table.measure().at(2).distance, 10.0);
  ASSERT_TRUE(table.aggregate());
  const std::vector<RowMeasure> measures = table.measure();
  ASSERT_EQ(measures.size(), 3u);
  const double norms[] = {5.0, 0.0, 10.0}, distances[] = {0.0, 5.0, 5.0};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(measures[i].norm, norms[i]);
    EXPECT_DOUBLE_EQ(measures[i].distance, distances[i]);
  }
}

}  // namespace
}  // namespace ballast::robust
