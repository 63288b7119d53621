#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "ballast/base/rng.h"
#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/robust/rules/scatter.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

constexpr std::uint32_t kDncPurpose = 0x646e6363;  // keeps the stream apart from all others

class DivideAndConquer final : public Rule {
 public:
  explicit DivideAndConquer(const DncOptions& options) : options_(options) {}

  std::string text() const override {
    constexpr DncOptions kDefault;
    std::string text = fmt::format("dnc({}", options_.lambda);
    const auto add = [&](const char* key, auto value, auto otherwise) {
      if (value != otherwise) text += fmt::format(", {}={}", key, value);
    };
    add("iterations", options_.iterations, kDefault.iterations);
    add("coordinates", options_.coordinates, kDefault.coordinates);
    add("filter", options_.filter, kDefault.filter);
    add("seed", options_.seed, kDefault.seed);
    return text + ")";
  }
  // Inner products over some of the coordinates are not among the facts that Observed gives.
  bool is_combination() const noexcept override { return false; }
  bool has_coefficients() const noexcept override { return true; }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    Workspace& workspace = observed.workspace();
    find(observed, weights, workspace.take_vector(observed.backend(), observed.dim()), c, report);
  }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    const std::span<double> c = observed.workspace().take<double>(observed.row_count());
    find(observed, weights, out, c, report);
    observed.combine(c, out);
    return out;
  }

 private:
  // Some of the columns of the gathered values.
  struct Columns {
    std::size_t count;
    std::size_t stride;  // from one row to the next
  };

  void find(Observed& observed, const kernels::Weights& weights, kernels::Vector& scratch,
            std::span<double> c, Report& report) const {
    const std::size_t m = observed.row_count();
    Workspace& workspace = observed.workspace();
    const std::size_t count = std::min<std::size_t>(options_.coordinates, observed.dim());
    const bool draws = count < observed.dim();
    // Without a choice of coordinates every iteration is the same.
    const std::size_t iterations = draws ? options_.iterations : 1;
    const std::span<std::size_t> chosen = workspace.take<std::size_t>(iterations * count);
    choose(observed, count, chosen);
    const std::span<const float> values = gather(observed, chosen, scratch);
    const std::span<double> kept = workspace.take<double>(m);
    const std::span<double> mean_kept = workspace.take<double>(m, 0.0);
    report.kept.assign(m, 1.0);
    for (std::size_t k = 0; k < iterations; ++k) {
      filter(values.subspan(k * count), {.count = count, .stride = chosen.size()}, weights,
             workspace, kept);
      for (std::size_t i = 0; i < m; ++i) {
        report.kept[i] = std::min(report.kept[i], kept[i]);
        mean_kept[i] += kept[i] / static_cast<double>(iterations);
      }
    }
    double left = 0.0;
    for (std::size_t i = 0; i < m; ++i) left += report.kept[i] * weights.share(i);
    if (left <= kShareTolerance) std::ranges::copy(mean_kept, report.kept.begin());
    kept_mean(report.kept, weights, c);
  }

  // For each iteration the first `count` coordinates of a new permutation, or all in their order.
  void choose(Observed& observed, std::size_t count, std::span<std::size_t> chosen) const {
    const std::span<std::size_t> order = observed.workspace().take<std::size_t>(observed.dim());
    for (std::size_t k = 0; k * count < chosen.size(); ++k) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      Rng rng(RngKey{.seed = options_.seed,
                     .purpose = kDncPurpose,
                     .owner = static_cast<std::uint32_t>(k),
                     .step = observed.draw()});
      for (std::size_t j = 0; j < count && count < order.size(); ++j) {
        std::swap(order[j], order[j + rng.below(order.size() - j)]);
      }
      std::ranges::copy(order.first(count),
                        chosen.begin() + static_cast<std::ptrdiff_t>(k * count));
    }
  }

  // The chosen coordinates of all rows, in host memory, row after row.
  static std::span<const float> gather(Observed& observed, std::span<const std::size_t> chosen,
                                       kernels::Vector& scratch) {
    const std::size_t m = observed.row_count();
    Workspace& workspace = observed.workspace();
    const std::span<float> values = workspace.take<float>(m * chosen.size());
    const std::span<float> row = workspace.take<float>(observed.dim());
    const std::span<double> only = workspace.take<double>(m, 0.0);
    for (std::size_t i = 0; i < m; ++i) {
      only[i] = 1.0;
      observed.combine(only, scratch);
      scratch.read(row);
      only[i] = 0.0;
      for (std::size_t j = 0; j < chosen.size(); ++j)
        values[i * chosen.size() + j] = row[chosen[j]];
    }
    return values;
  }

  // What one iteration keeps of each row.
  void filter(std::span<const float> values, Columns columns, const kernels::Weights& weights,
              Workspace& workspace, std::span<double> kept) const {
    const std::size_t m = kept.size();
    const std::span<double> shares = workspace.take<double>(m);
    const std::span<double> scores = workspace.take<double>(m);
    const std::span<double> products = workspace.take<double>(m * m);
    const std::span<double> away = workspace.take<double>(m * columns.count);
    for (std::size_t i = 0; i < m; ++i) shares[i] = weights.share(i);
    for (std::size_t j = 0; j < columns.count; ++j) {
      double mean = 0.0;
      for (std::size_t i = 0; i < m; ++i) mean += shares[i] * values[i * columns.stride + j];
      for (std::size_t i = 0; i < m; ++i) {
        away[i * columns.count + j] = values[i * columns.stride + j] - mean;
      }
    }
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t k = 0; k <= i; ++k) {
        const auto left = away.subspan(i * columns.count, columns.count);
        const auto right = away.subspan(k * columns.count, columns.count);
        products[i * m + k] = products[k * m + i] =
            std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
      }
    }
    Scatter scatter(m, workspace);
    scatter.assign(Gram(products, m), shares);
    scatter.largest(scores);
    make_ties_exact(scores, workspace);
    keep_nearest(scores, weights, 1.0 - options_.filter * options_.lambda, workspace, kept);
  }

  // Scores that rounding alone tells apart, as those of all honest rows beside one at 1e30, become
  // the same, so that row numbers decide and not the order of additions.
  static void make_ties_exact(std::span<double> scores, Workspace& workspace) {
    constexpr double kScoreTolerance = 1e-12;
    const std::span<std::size_t> order = workspace.take<std::size_t>(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return scores[a] != scores[b] ? scores[a] < scores[b] : a < b;
    });
    const double step = kScoreTolerance * scores[order.back()];
    double before = scores[order.front()];
    for (std::size_t k = 1; k < order.size(); ++k) {
      const double score = scores[order[k]];
      if (score - before <= step) scores[order[k]] = scores[order[k - 1]];
      before = score;
    }
  }

  DncOptions options_;
};

constexpr expression::Parameter kDncParameters[] = {
    kLambdaParameter,
    expression::Parameter::whole("iterations", "how often coordinates are drawn and rows filtered")
        .from(1)
        .up_to(1000)
        .otherwise(1),
    expression::Parameter::whole("coordinates", "how many coordinates are drawn")
        .from(1)
        .up_to(1e7)
        .otherwise(10000),
    expression::Parameter::number("filter", "the weight that an iteration removes, in LAMBDAs")
        .from(0)
        .up_to(2)
        .otherwise(1),
    expression::Parameter::whole("seed", "of the coordinates").otherwise(0)};

}  // namespace

RulePointer make_dnc(const DncOptions& options) {
  return std::make_unique<DivideAndConquer>(options);
}

extern constinit const RuleItem kDncRule = {
    {.name = "dnc",
     .help = "weighted mean without the rows farthest out along the widest direction of some "
             "coordinates",
     .paper = "Shejwalkar and Houmansadr 2021",
     .parameters = kDncParameters},
    [](const expression::Arguments& arguments) -> Result<RulePointer> {
      return make_dnc({.lambda = arguments.number("lambda"),
                       .iterations = arguments.whole("iterations"),
                       .coordinates = arguments.whole("coordinates"),
                       .filter = arguments.number("filter"),
                       .seed = arguments.whole("seed")});
    }};

}  // namespace ballast::robust
