#include "ballast/attacks/distance_attacks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "ballast/attacks/attack_item.h"
#include "ballast/attacks/weighted_moments.h"

namespace ballast::attacks {
namespace {

using expression::Parameter;
using Doubles = std::vector<double>;

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double difference = double{a[j]} - double{b[j]};
    sum += difference * difference;
  }
  return sum;
}

// For each honest row x_i: |mean - x_i + gamma p|^2 = a_i + 2 gamma b_i + gamma^2 c.
struct Distances {
  Doubles a;
  Doubles b;
  double c = 0.0;
};

class FarFromTheMean : public Attack {
 public:
  explicit FarFromTheMean(AwayFrom away) : away_(away) {}

  bool colludes() const noexcept final { return true; }

  void collude(const AdversaryView& view, std::span<float> update) const final {
    if (view.honest_rows.row_count() == 0) return;
    std::vector<float> mean(update.size());
    write_scaled_mean(view.honest_rows, view.honest_counts, 1.0, mean);
    const Doubles away = direction(view, mean);
    const double gamma = largest(view, measure(view.honest_rows, mean, away));
    for (std::size_t j = 0; j < update.size(); ++j) {
      update[j] = saturate(mean[j] + gamma * away[j] + 0.0);  // no -0
    }
  }

 private:
  // The largest gamma that the bound allows. Requires: c >= 0.
  virtual double largest(const AdversaryView& view, const Distances& distances) const = 0;

  Doubles direction(const AdversaryView& view, std::span<const float> mean) const {
    Doubles away(mean.size());
    if (away_ == AwayFrom::kDeviation) {
      std::vector<float> below(mean.size());
      write_shifted_mean(view.honest_rows, view.honest_counts, 1.0, below);
      for (std::size_t j = 0; j < away.size(); ++j) away[j] = double{below[j]} - double{mean[j]};
      return away;
    }
    double squares = 0.0;
    for (const float value : mean) squares += double{value} * double{value};
    for (std::size_t j = 0; j < away.size(); ++j) {
      if (mean[j] == 0.0f) continue;
      away[j] = away_ == AwayFrom::kSign ? (mean[j] > 0.0f ? -1.0 : 1.0)
                                         : -double{mean[j]} / std::sqrt(squares);
    }
    return away;
  }

  static Distances measure(kernels::RowsView rows, std::span<const float> mean,
                           const Doubles& away) {
    Distances distances{.a = Doubles(rows.row_count()), .b = Doubles(rows.row_count())};
    for (const double value : away) distances.c += value * value;
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
      const auto row = rows.row(i);
      distances.a[i] = squared_distance(mean, row);
      for (std::size_t j = 0; j < row.size(); ++j) {
        distances.b[i] += (double{mean[j]} - double{row[j]}) * away[j];
      }
    }
    return distances;
  }

  AwayFrom away_;
};

class MinMax final : public FarFromTheMean {
 public:
  using FarFromTheMean::FarFromTheMean;

 private:
  double largest(const AdversaryView& view, const Distances& distances) const override {
    if (distances.c == 0.0) return 0.0;
    const kernels::RowsView rows = view.honest_rows;
    double widest = 0.0;
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        widest = std::max(widest, squared_distance(rows.row(i), rows.row(k)));
      }
    }
    double gamma = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
      // The mean lies among the rows, so what is under the root is not negative but for rounding.
      const double b = distances.b[i];
      const double room = std::max(0.0, widest - distances.a[i]);
      gamma = std::min(gamma, (std::sqrt(b * b + distances.c * room) - b) / distances.c);
    }
    return std::max(0.0, gamma);
  }
};

class MinSum final : public FarFromTheMean {
 public:
  using FarFromTheMean::FarFromTheMean;

 private:
  double largest(const AdversaryView& view, const Distances& distances) const override {
    if (distances.c == 0.0) return 0.0;
    const kernels::RowsView rows = view.honest_rows;
    double largest_sum = 0.0;
    double a = 0.0;
    double b = 0.0;
    double total = 0.0;
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
      double sum = 0.0;
      for (std::size_t k = 0; k < rows.row_count(); ++k) {
        sum +=
            static_cast<double>(view.honest_counts[k]) * squared_distance(rows.row(i), rows.row(k));
      }
      largest_sum = std::max(largest_sum, sum);
      const auto count = static_cast<double>(view.honest_counts[i]);
      a += count * distances.a[i];
      b += count * distances.b[i];
      total += count;
    }
    const double c = total * distances.c;
    const double room = std::max(0.0, largest_sum - a);
    return std::max(0.0, (std::sqrt(b * b + c * room) - b) / c);
  }
};

constexpr std::string_view kAwayWords[] = {"deviation", "unit", "sign"};

constexpr Parameter kParameters[] = {
    Parameter::word("away", kAwayWords,
                    "the direction: against the deviations, the mean, or the mean's signs")
        .otherwise("deviation")};

AwayFrom away_of(const expression::Arguments& arguments) {
  const std::string_view word = arguments.word("away");
  if (word == kAwayWords[0]) return AwayFrom::kDeviation;
  return word == kAwayWords[1] ? AwayFrom::kUnit : AwayFrom::kSign;
}

}  // namespace

AttackPointer make_min_max(AwayFrom away) { return std::make_unique<MinMax>(away); }
AttackPointer make_min_sum(AwayFrom away) { return std::make_unique<MinSum>(away); }

extern constinit const AttackItem kMinMaxAttack = {
    {.name = "min-max",
     .help = "goes from the honest mean as far as the two farthest honest rows lie apart",
     .paper = "Shejwalkar and Houmansadr 2021",
     .parameters = kParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_min_max(away_of(arguments));
    }};

extern constinit const AttackItem kMinSumAttack = {
    {.name = "min-sum",
     .help = "the same with a bound on the sum of squared distances to the honest rows",
     .paper = "Shejwalkar and Houmansadr 2021",
     .parameters = kParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_min_sum(away_of(arguments));
    }};

}  // namespace ballast::attacks
