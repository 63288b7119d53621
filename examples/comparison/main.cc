// Seventeen workers send gradients and some of them lie. Prints how far the result of each rule is
// from the mean of the honest rows, attack by attack, and whom one of them trimmed.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#include "ballast/rules.h"

namespace {

using Row = std::vector<float>;

constexpr std::size_t kDim = 10'000;
constexpr double kNoise = 4.0;  // of one gradient; the gradient itself has values of size 1
constexpr const char* kTrimmingRule = "ctma(gm, 0.4)";
constexpr const char* kRules[] = {"mean",
                                  "unweighted(cwmed)",
                                  "cwmed",
                                  "gm",
                                  "krum(0.4)",
                                  "nnm(cwmed, 0.4)",
                                  "ctma(cwmed, 0.4)",
                                  kTrimmingRule};

// Who is there: the number of updates heard from each worker. The last ones lie.
struct Cast {
  const char* title;
  std::vector<double> counts;
  std::size_t honest;

  bool lies(std::size_t worker) const { return worker >= honest; }
  double liars_share() const {
    double total = 0.0, liars = 0.0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      total += counts[i];
      if (lies(i)) liars += counts[i];
    }
    return liars / total;
  }
};

// The i-th honest worker, counting from 1, was heard i * honest_step times, each liar liar_count
// times.
Cast make_cast(const char* title, std::size_t honest, double honest_step, std::size_t liars,
               double liar_count) {
  Cast cast{title, {}, honest};
  for (std::size_t i = 1; i <= honest; ++i) {
    cast.counts.push_back(honest_step * static_cast<double>(i));
  }
  cast.counts.insert(cast.counts.end(), liars, liar_count);
  return cast;
}

// Turns what a liar would send, were it honest, into what it sends.
using Lie = void (*)(const Row& honest_mean, Row& row);

void flip_sign(const Row&, Row& row) {
  for (float& value : row) value = -value;
}
void throw_far_away(const Row&, Row& row) {
  for (float& value : row) value *= 1000.0f;
}
void push_gently_backwards(const Row& honest_mean, Row& row) {
  for (std::size_t j = 0; j < kDim; ++j) row[j] = -0.1f * honest_mean[j];
}

struct Attack {
  const char* name;
  Lie lie;
};
constexpr Attack kAttacks[] = {
    {"sign flip", flip_sign}, {"far outlier", throw_far_away}, {"empire", push_gently_backwards}};

// What every worker would send if it were honest: the true gradient, and the noise that is left of
// as many noisy gradients as were heard from it.
std::vector<Row> honest_rows(const Cast& cast) {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  Row gradient(kDim);
  for (float& value : gradient) value = static_cast<float>(normal(generator));
  std::vector<Row> rows(cast.counts.size(), gradient);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double noise = kNoise / std::sqrt(cast.counts[i]);
    for (float& value : rows[i]) value += static_cast<float>(noise * normal(generator));
  }
  return rows;
}

ballast::Aggregate aggregate(const char* rule, std::span<const Row> rows,
                             std::span<const double> counts) {
  auto result = ballast::aggregate(rule, rows, counts);
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  return std::move(*result);
}

Row honest_mean(const Cast& cast, std::span<const Row> rows) {
  const std::span<const double> counts = cast.counts;
  return aggregate("mean", rows.first(cast.honest), counts.first(cast.honest)).values;
}

std::vector<Row> attacked_rows(const Cast& cast, const Attack& attack) {
  std::vector<Row> rows = honest_rows(cast);
  const Row mean = honest_mean(cast, rows);
  for (std::size_t i = cast.honest; i < rows.size(); ++i) attack.lie(mean, rows[i]);
  return rows;
}

// |values - truth| / |truth|
double relative_error(const Row& values, const Row& truth) {
  double difference = 0.0, size = 0.0;
  for (std::size_t j = 0; j < kDim; ++j) {
    difference += std::pow(double{values[j]} - double{truth[j]}, 2);
    size += std::pow(double{truth[j]}, 2);
  }
  return std::sqrt(difference / size);
}

// The error of each rule, in the order of kRules.
std::vector<double> errors_under(const Cast& cast, const Attack& attack) {
  const std::vector<Row> rows = attacked_rows(cast, attack);
  const Row truth = honest_mean(cast, rows);
  std::vector<double> errors;
  for (const char* rule : kRules) {
    errors.push_back(relative_error(aggregate(rule, rows, cast.counts).values, truth));
  }
  return errors;
}

// Marks what is as good as the best of its column.
char mark(double error, const std::vector<double>& column) {
  return error < 1.01 * *std::ranges::min_element(column) ? '*' : ' ';
}

void print_errors(const Cast& cast) {
  std::printf("%s: %zu of %zu workers, %.2f of the weight\n\n  %-20s", cast.title,
              cast.counts.size() - cast.honest, cast.counts.size(), cast.liars_share(), "rule");
  std::vector<std::vector<double>> columns;
  for (const Attack& attack : kAttacks) {
    columns.push_back(errors_under(cast, attack));
    std::printf("%13s ", attack.name);
  }
  std::printf("\n");
  for (std::size_t i = 0; i < std::size(kRules); ++i) {
    std::printf("  %-20s", kRules[i]);
    for (const auto& column : columns) std::printf("%13.3f%c", column[i], mark(column[i], column));
    std::printf("\n");
  }
  std::printf("\n");
}

void print_trimmed(const Cast& cast, const Attack& attack) {
  std::printf("Whom %s trimmed under %s, in the first table:\n\n", kTrimmingRule, attack.name);
  const auto kept = aggregate(kTrimmingRule, attacked_rows(cast, attack), cast.counts).report.kept;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] == 1.0) continue;
    std::printf("  worker %2zu  %-7s %4.0f updates  %3.0f %% of its weight kept\n", i + 1,
                cast.lies(i) ? "liar" : "honest", cast.counts[i], 100.0 * kept[i]);
  }
}

}  // namespace

int main() {
  std::printf(
      "Each number is the distance of a rule's result from the mean of the honest rows, over the\n"
      "length of that mean: 0 is perfect, 1 is as bad as no result at all, * marks the best. The\n"
      "plain mean obeys the liars; a rule that ignores the weights (unweighted) does so once the\n"
      "liars are many. The weighted rules hold both times, best with trimming (ctma) or mixing\n"
      "(nnm) on top.\n\n"
      "sign flip: the opposite of the truth. far outlier: 1000 times the truth. empire: 0.1 of "
      "the\n"
      "honest mean, backwards. The weight of a worker is the number of its updates, and the more\n"
      "updates, the less noise in its row.\n\n");
  const Cast fast = make_cast("Few liars, but fast", 14, 10, 3, 214);
  const Cast slow = make_cast("Many liars, but slow", 8, 40, 9, 90);
  print_errors(fast);
  print_errors(slow);
  print_trimmed(fast, kAttacks[0]);
}
