#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "ballast/robust/rules/column_mean.h"
#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

class Bulyan final : public Rule {
 public:
  explicit Bulyan(double lambda) : lambda_(lambda) {}

  std::string text() const override { return fmt::format("bulyan({})", lambda_); }
  bool is_combination() const noexcept override { return false; }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    const std::size_t m = observed.row_count();
    const std::size_t dim = observed.dim();
    Workspace& workspace = observed.workspace();
    const std::span<const double> taken = select(observed, weights);
    report.kept.resize(m);
    for (std::size_t i = 0; i < m; ++i) {
      report.kept[i] = std::clamp(taken[i] / weights.share(i), 0.0, 1.0);
    }
    const std::span<const float> values = read_rows(observed, out);
    const std::span<float> result = workspace.take<float>(dim);
    const std::span<WeighedValue> column = workspace.take<WeighedValue>(m);
    for (std::size_t j = 0; j < dim; ++j) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < m; ++i) {
        if (taken[i] > 0.0) column[count++] = {values[i * dim + j], taken[i], i, 0.0};
      }
      const std::span<WeighedValue> entries = column.first(count);
      const double middle = median_of(entries);
      result[j] = static_cast<float>(mean_around(entries, middle, 1.0 - 4.0 * lambda_));
    }
    out.write(result);
    return out;
  }

 private:
  // How much of each row, as a share of all weight, krum chooses one after the other.
  std::span<const double> select(Observed& observed, const kernels::Weights& weights) const {
    const std::size_t m = observed.row_count();
    Workspace& workspace = observed.workspace();
    const Gram gram = observed.gram(weights);
    const std::span<double> taken = workspace.take<double>(m, 0.0);
    const std::span<bool> is_left = workspace.take<bool>(m, true);
    const std::span<std::size_t> order = workspace.take<std::size_t>(m);
    double left = 1.0;  // the share of the rows that are left
    double wanted = 1.0 - 2.0 * lambda_;
    while (wanted > kShareTolerance) {
      std::size_t best = m;
      double best_score = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < m; ++i) {
        if (!is_left[i]) continue;
        const double score = score_of(i, gram, weights, is_left, left, order);
        if (best == m || score < best_score) best = i, best_score = score;
      }
      taken[best] = std::min(weights.share(best), wanted);
      wanted -= taken[best];
      left -= weights.share(best);
      is_left[best] = false;
    }
    return taken;
  }

  // krum's score of a row among those that are left.
  double score_of(std::size_t row, const Gram& gram, const kernels::Weights& weights,
                  std::span<const bool> is_left, double left, std::span<std::size_t> order) const {
    std::size_t count = 0;
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (is_left[j] && j != row) order[count++] = j;
    }
    const std::span<std::size_t> others = order.first(count);
    std::ranges::sort(others, [&](std::size_t a, std::size_t b) {
      const double to_a = gram.squared_distance(row, a);
      const double to_b = gram.squared_distance(row, b);
      return to_a != to_b ? to_a < to_b : a < b;
    });
    const double unit = 1.0 / static_cast<double>(order.size());
    double company = std::max(unit, left - lambda_ - weights.share(row) - unit);
    double score = 0.0;
    for (const std::size_t other : others) {
      if (company <= kShareTolerance) break;
      const double share = std::min(weights.share(other), company);
      score += share * gram.squared_distance(row, other);
      company -= share;
    }
    return score;
  }

  double lambda_;
};

constexpr expression::Parameter kParameters[] = {
    expression::Parameter::number("lambda", "the share to defend against").from(0).below(0.25)};

}  // namespace

RulePointer make_bulyan(double lambda) { return std::make_unique<Bulyan>(lambda); }

extern constinit const RuleItem kBulyanRule = {
    {.name = "bulyan",
     .help = "rows chosen by krum one after the other, then in each coordinate around the median",
     .paper = "El Mhamdi et al. 2018",
     .parameters = kParameters},
    make_from_lambda<make_bulyan>};

}  // namespace ballast::robust
