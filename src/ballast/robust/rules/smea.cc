#include <fmt/core.h>

#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/robust/rules/scatter.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

using RowSet = std::uint32_t;  // bit i is row i
static_assert(kSmeaRowsMax <= 32);

RowSet only(std::size_t row) { return RowSet{1} << row; }

// Looks for the set of enough weight whose scatter has the smallest largest eigenvalue. Another row
// never makes that smaller, so a set that has reached the best one so far need not grow.
class SmallestScatter {
 public:
  SmallestScatter(const Gram& gram, const kernels::Weights& weights, double needed,
                  Workspace& workspace)
      : gram_(gram),
        weights_(weights),
        needed_(needed),
        scatter_(gram.row_count(), workspace),
        parts_(workspace.take<double>(gram.row_count())),
        scores_(workspace.take<double>(gram.row_count())) {
    peel();
    grow({.set = 0, .row = 0, .taken = 0, .possible = weights.total()});
  }
  RowSet rows() const { return best_; }

 private:
  // A set over the first rows, its weight, and the weight that it can have with all others.
  struct Partial {
    RowSet set;
    std::size_t row;
    std::uint64_t taken;
    std::uint64_t possible;
  };

  std::uint64_t weight(std::size_t row) const { return weights_.units()[row]; }
  bool is_enough(std::uint64_t weight) const { return static_cast<double>(weight) >= needed_; }

  // A good set to begin with: of all rows, again and again leave out the one that lies farthest out
  // along the widest direction, as long as enough weight is left.
  void peel() {
    const std::size_t m = gram_.row_count();
    for (std::size_t i = 0; i < m; ++i) best_ |= only(i);
    std::uint64_t left = weights_.total();
    for (;;) {
      load(best_);
      best_spread_ = scatter_.largest(scores_);
      std::size_t farthest = m;
      for (std::size_t i = 0; i < m; ++i) {
        if ((best_ & only(i)) == 0 || !is_enough(left - weight(i))) continue;
        if (farthest == m || scores_[i] > scores_[farthest]) farthest = i;
      }
      if (farthest == m) return;
      best_ &= ~only(farthest);
      left -= weight(farthest);
    }
  }

  // Decides on a row, first in, then out.
  void grow(const Partial& partial) {
    const auto [set, row, taken, possible] = partial;
    if (is_enough(taken)) return consider(set);
    if (!is_enough(possible)) return;
    const RowSet larger = set | only(row);
    if (is_better(larger)) {
      grow({.set = larger, .row = row + 1, .taken = taken + weight(row), .possible = possible});
    }
    grow({.set = set, .row = row + 1, .taken = taken, .possible = possible - weight(row)});
  }

  // Requires: is_better(set) was asked last.
  void consider(RowSet set) {
    best_spread_ = scatter_.largest(scores_);
    best_ = set;
  }

  bool is_better(RowSet set) {
    load(set);
    return scatter_.is_below((1.0 - kEigenvalueTolerance) * best_spread_);
  }

  void load(RowSet set) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i] = (set & only(i)) != 0 ? weights_.share(i) : 0.0;
    }
    scatter_.assign(gram_, parts_);
  }

  const Gram& gram_;
  const kernels::Weights& weights_;
  double needed_;
  Scatter scatter_;
  std::span<double> parts_, scores_;
  RowSet best_ = 0;
  double best_spread_ = 0.0;
};

class SmallestEigenvalue final : public Rule {
 public:
  explicit SmallestEigenvalue(double lambda) : lambda_(lambda) {}

  std::string text() const override { return fmt::format("smea({})", lambda_); }
  bool is_combination() const noexcept override { return true; }
  Status check_row_count(std::size_t rows) const override {
    if (rows <= kSmeaRowsMax) return {};
    return invalid_argument(
        fmt::format("smea searches exactly and takes at most {} rows, not {}; use caf for more",
                    kSmeaRowsMax, rows));
  }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const Gram gram = observed.gram(weights);
    const double needed = (1.0 - lambda_ - kShareTolerance) * static_cast<double>(weights.total());
    const RowSet chosen = SmallestScatter(gram, weights, needed, observed.workspace()).rows();
    report.kept.resize(c.size());
    for (std::size_t i = 0; i < c.size(); ++i) report.kept[i] = (chosen & only(i)) != 0 ? 1.0 : 0.0;
    kept_mean(report.kept, weights, c);
  }

 private:
  double lambda_;
};

}  // namespace

RulePointer make_smea(double lambda) { return std::make_unique<SmallestEigenvalue>(lambda); }

extern constinit const RuleItem kSmeaRule = {
    {.name = "smea",
     .help = "weighted mean of the set of 1 - LAMBDA of the weight that spreads least along its "
             "widest direction",
     .paper = "Allouah et al. 2023b",
     .parameters = kLambdaOnly},
    make_from_lambda<make_smea>};

}  // namespace ballast::robust
