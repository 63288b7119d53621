// With equal weights and LAMBDA = f / m every rule is the one of the synchronous literature. The
// classic definitions are written here on their own, in terms of f and of plain sorting.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ballast/robust/rules/rule_for_test.h"
#include "ballast/robust/rules/rules.h"

namespace ballast::robust {
namespace {

constexpr double kRounding = 1e-5;

Vector plain_mean(const Table& rows) {
  Vector total(rows.front().size(), 0.0);
  for (const Vector& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) total[j] += row[j];
  }
  for (double& value : total) value /= static_cast<double>(rows.size());
  return total;
}

// The mean of each sorted column without its f smallest and f largest values.
Vector plain_trimmed_mean(const Table& rows, std::size_t f) {
  Vector result;
  for (std::size_t j = 0; j < rows.front().size(); ++j) {
    Table column;
    for (const Vector& row : rows) column.push_back({row[j]});
    std::sort(column.begin(), column.end());
    result.push_back(plain_mean(Table(column.begin() + static_cast<std::ptrdiff_t>(f),
                                      column.end() - static_cast<std::ptrdiff_t>(f)))[0]);
  }
  return result;
}

// The middle value, or the mean of the two in the middle: all but those are trimmed.
Vector plain_median(const Table& rows) { return plain_trimmed_mean(rows, (rows.size() - 1) / 2); }

Table nearest(Table rows, const Vector& point, std::size_t count) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Vector& a, const Vector& b) {
    return brute_force::distance(a, point) < brute_force::distance(b, point);
  });
  rows.resize(count);
  return rows;
}

double plain_krum_score(const Table& rows, const Vector& row, std::size_t f) {
  double score = 0.0;  // of the m - f - 2 nearest others, and of the row itself at distance 0
  for (const Vector& other : nearest(rows, row, rows.size() - f - 1)) {
    score += std::pow(brute_force::distance(row, other), 2.0);
  }
  return score;
}

double diameter_of(const Table& set) {
  double largest = 0.0;
  for (const Vector& a : set) {
    for (const Vector& b : set) largest = std::max(largest, brute_force::distance(a, b));
  }
  return largest;
}

// The smallest diameter of any m - f rows.
double plain_mda_diameter(const Table& rows, std::size_t f) {
  std::vector<bool> is_member(rows.size(), true);
  std::fill_n(is_member.begin(), f, false);
  double smallest = std::numeric_limits<double>::infinity();
  do {
    Table set;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (is_member[i]) set.push_back(rows[i]);
    }
    smallest = std::min(smallest, diameter_of(set));
  } while (std::next_permutation(is_member.begin(), is_member.end()));
  return smallest;
}

// Calls check(rows, f) for tables of normal rows, which have no ties, and all f below m / 2.
template <typename Check>
void for_each_table(Check&& check) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t row_count = 1 + seed % 10;
    const Table rows = draw_normal(row_count, 1 + seed % 4, seed).rows;
    for (std::size_t f = 0; 2 * f < row_count; ++f) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " f " << f);
      check(rows, f);
    }
  }
}

double share(std::size_t f, const Table& rows) {
  return static_cast<double>(f) / static_cast<double>(rows.size());
}

Vector with_equal_weights(const Rule& rule, const Table& rows) {
  return applied(rule, rows, Vector(rows.size(), 3.0));
}

TEST(Classic, MedianAndTrimmedMean) {
  for_each_table([](const Table& rows, std::size_t f) {
    expect_near(with_equal_weights(*make_cwmed(), rows), plain_median(rows), kRounding);
    expect_near(with_equal_weights(*make_cwtm(share(f, rows)), rows), plain_trimmed_mean(rows, f),
                kRounding);
  });
}

TEST(Classic, Ctma) {
  for_each_table([](const Table& rows, std::size_t f) {
    expect_near(with_equal_weights(*make_ctma(make_cwmed(), share(f, rows)), rows),
                plain_mean(nearest(rows, plain_median(rows), rows.size() - f)), kRounding);
  });
}

TEST(Classic, KrumAndMultikrum) {
  for_each_table([](const Table& rows, std::size_t f) {
    if (rows.size() < f + 3) return;  // Krum counts at least one neighbour
    Vector scores;
    for (const Vector& row : rows) scores.push_back(plain_krum_score(rows, row, f));
    const auto order = brute_force::sorted_by(scores);
    const RulePointer krum = make_krum(share(f, rows)), multikrum = make_multikrum(share(f, rows));

    const Vector chosen = with_equal_weights(*krum, rows);
    const auto place = std::find(rows.begin(), rows.end(), chosen);
    ASSERT_NE(place, rows.end());
    EXPECT_NEAR(plain_krum_score(rows, chosen, f), scores[order[0]], 1e-9 * scores[order[0]]);

    Table best;
    for (std::size_t k = 0; k < rows.size() - f; ++k) best.push_back(rows[order[k]]);
    const bool is_tied =
        f > 0 && scores[order[rows.size() - f]] < scores[order[rows.size() - f - 1]] * (1 + 1e-9);
    if (!is_tied) expect_near(with_equal_weights(*multikrum, rows), plain_mean(best), kRounding);
  });
}

// Two rows alone decide a diameter, so several sets may share the smallest one; the heaviest is
// taken, which may have more than m - f rows.
TEST(Classic, Mda) {
  for_each_table([](const Table& rows, std::size_t f) {
    const auto [result, report] =
        outcome(*make_mda(share(f, rows)), rows, Vector(rows.size(), 3.0));
    Table set;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (report.kept[i] == 1.0) set.push_back(rows[i]);
    }
    EXPECT_GE(set.size(), rows.size() - f);
    EXPECT_EQ(diameter_of(set), plain_mda_diameter(rows, f));
    expect_near(result, plain_mean(set), kRounding);
  });
}

TEST(Classic, Nnm) {
  for_each_table([](const Table& rows, std::size_t f) {
    Table mixed;
    for (const Vector& row : rows) mixed.push_back(plain_mean(nearest(rows, row, rows.size() - f)));
    expect_near(with_equal_weights(*make_nnm(make_cwmed(), share(f, rows)), rows),
                plain_median(mixed), kRounding);
  });
}

// Three buckets of two: the median of three plain means, for some order of the rows.
TEST(Classic, Bucketing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Table rows = draw_normal(6, 2, seed).rows;
    const Vector result = with_equal_weights(*make_bucketing(make_cwmed(), 2, seed), rows);
    double smallest = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> p = {0, 1, 2, 3, 4, 5};
    do {
      const Vector candidate =
          plain_median({plain_mean({rows[p[0]], rows[p[1]]}), plain_mean({rows[p[2]], rows[p[3]]}),
                        plain_mean({rows[p[4]], rows[p[5]]})});
      smallest = std::min(smallest, brute_force::distance(candidate, result));
    } while (std::next_permutation(p.begin(), p.end()));
    EXPECT_LE(smallest, kRounding);
  }
}

}  // namespace
}  // namespace ballast::robust
