#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

using RowSet = std::uint32_t;  // bit i is row i
static_assert(kMdaRowsMax <= 32);

RowSet only(std::size_t row) { return RowSet{1} << row; }

// The graph whose edges join rows no farther apart than a threshold.
struct Graph {
  std::size_t row_count;
  RowSet near[kMdaRowsMax];
};

Graph graph_within(const Gram& gram, double squared_diameter) {
  Graph graph{gram.row_count(), {}};
  for (std::size_t i = 0; i < graph.row_count; ++i) {
    for (std::size_t j = 0; j < graph.row_count; ++j) {
      if (i != j && gram.squared_distance(i, j) <= squared_diameter) graph.near[i] |= only(j);
    }
  }
  return graph;
}

// Finds the heaviest clique by listing the maximal ones (Bron and Kerbosch, with pivots).
class HeaviestClique {
 public:
  HeaviestClique(const Graph& graph, const kernels::Weights& weights)
      : graph_(graph), weights_(weights) {
    const RowSet all = graph.row_count == 32 ? ~RowSet{0} : only(graph.row_count) - 1;
    extend(0, all, 0);
  }
  RowSet rows() const { return best_; }
  std::uint64_t weight() const { return best_weight_; }

 private:
  // Reports clique when nothing can be added; else adds each candidate not near the pivot in turn.
  void extend(RowSet clique, RowSet candidates, RowSet excluded) {
    if ((candidates | excluded) == 0) return consider(clique);
    RowSet branches = candidates & ~graph_.near[pivot_of(candidates, candidates | excluded)];
    while (branches != 0) {
      const auto row = static_cast<std::size_t>(std::countr_zero(branches));
      branches &= branches - 1;
      extend(clique | only(row), candidates & graph_.near[row], excluded & graph_.near[row]);
      candidates &= ~only(row);
      excluded |= only(row);
    }
  }

  std::size_t pivot_of(RowSet candidates, RowSet rows) const {
    std::size_t pivot = 0;
    int most = -1;
    for (; rows != 0; rows &= rows - 1) {
      const auto row = static_cast<std::size_t>(std::countr_zero(rows));
      const int covered = std::popcount(candidates & graph_.near[row]);
      if (covered > most) most = covered, pivot = row;
    }
    return pivot;
  }

  void consider(RowSet clique) {
    std::uint64_t weight = 0;
    for (RowSet rows = clique; rows != 0; rows &= rows - 1) {
      weight += weights_.units()[static_cast<std::size_t>(std::countr_zero(rows))];
    }
    if (weight > best_weight_ || (weight == best_weight_ && comes_first(clique, best_))) {
      best_ = clique;
      best_weight_ = weight;
    }
  }

  // Whether the sorted row numbers of `left` come before those of `right`: the lowest row in which
  // they differ belongs to the first.
  static bool comes_first(RowSet left, RowSet right) {
    const RowSet different = left ^ right;
    return (left & different & (0 - different)) != 0;
  }

  const Graph& graph_;
  const kernels::Weights& weights_;
  RowSet best_ = 0;
  std::uint64_t best_weight_ = 0;
};

class MinimumDiameter final : public Rule {
 public:
  explicit MinimumDiameter(double lambda) : lambda_(lambda) {}

  std::string text() const override { return fmt::format("mda({})", lambda_); }
  bool is_combination() const noexcept override { return true; }
  Status check_row_count(std::size_t rows) const override {
    if (rows <= kMdaRowsMax) return {};
    return invalid_argument(fmt::format(
        "mda searches exactly and takes at most {} rows, not {}; use ctma or nnm for more",
        kMdaRowsMax, rows));
  }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const RowSet chosen = smallest_set(observed.gram(weights), weights, observed.workspace());
    report.kept.resize(c.size());
    for (std::size_t i = 0; i < c.size(); ++i) report.kept[i] = (chosen & only(i)) != 0 ? 1.0 : 0.0;
    kept_mean(report.kept, weights, c);
  }

 private:
  // Bisects over the distances that occur, for the smallest at which some clique is heavy enough.
  RowSet smallest_set(const Gram& gram, const kernels::Weights& weights,
                      Workspace& workspace) const {
    const std::size_t m = gram.row_count();
    const std::span<double> diameters = workspace.take<double>(m * m);
    for (std::size_t k = 0; k < m * m; ++k) diameters[k] = gram.squared_distance(k / m, k % m);
    std::sort(diameters.begin(), diameters.end());
    const double needed = (1.0 - lambda_ - kShareTolerance) * static_cast<double>(weights.total());
    const auto smallest =
        std::partition_point(diameters.begin(), diameters.end(), [&](double diameter) {
          const Graph graph = graph_within(gram, diameter);
          return static_cast<double>(HeaviestClique(graph, weights).weight()) < needed;
        });
    const Graph graph = graph_within(gram, *smallest);
    return HeaviestClique(graph, weights).rows();
  }

  double lambda_;
};

}  // namespace

RulePointer make_mda(double lambda) { return std::make_unique<MinimumDiameter>(lambda); }

extern constinit const RuleItem kMdaRule = {
    {.name = "mda",
     .help = "weighted mean of the set of 1 - LAMBDA of the weight with the smallest diameter",
     .paper = "El Mhamdi et al. 2018",
     .parameters = kLambdaOnly},
    make_from_lambda<make_mda>};

}  // namespace ballast::robust
