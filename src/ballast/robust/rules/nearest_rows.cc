// Means of the rows nearest to something: the origin (cge), one trusted row (monna), and in each
// coordinate the median (meamed).

#include <fmt/core.h>

#include <algorithm>

#include "ballast/robust/rules/column_mean.h"
#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

class GradientElimination final : public Rule {
 public:
  explicit GradientElimination(double lambda) : lambda_(lambda) {}

  std::string text() const override { return fmt::format("cge({})", lambda_); }
  // Norms are not among the facts that centred inner products give.
  bool is_combination() const noexcept override { return false; }
  bool has_coefficients() const noexcept override { return true; }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const std::span<double> norms = observed.workspace().take<double>(c.size());
    observed.squared_norms(norms);
    report.kept.resize(c.size());
    keep_nearest(norms, weights, 1.0 - lambda_, observed.workspace(), report.kept);
    kept_mean(report.kept, weights, c);
  }

 private:
  double lambda_;
};

class NearestToRow final : public Rule {
 public:
  NearestToRow(double lambda, std::size_t row) : lambda_(lambda), row_(row) {}

  std::string text() const override {
    return row_ == 0 ? fmt::format("monna({})", lambda_)
                     : fmt::format("monna({}, row={})", lambda_, row_);
  }
  bool is_combination() const noexcept override { return true; }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const std::size_t row = std::min(row_, c.size() - 1);
    const Gram gram = observed.gram(weights);
    const std::span<double> distances = observed.workspace().take<double>(c.size());
    for (std::size_t i = 0; i < c.size(); ++i) distances[i] = gram.squared_distance(row, i);
    distances[row] = -1.0;  // nearest to itself, before any row at distance zero
    report.kept.resize(c.size());
    keep_nearest(distances, weights, 1.0 - lambda_, observed.workspace(), report.kept);
    kept_mean(report.kept, weights, c);
  }

 private:
  double lambda_;
  std::size_t row_;
};

class MeanAroundMedian final : public Rule {
 public:
  explicit MeanAroundMedian(double lambda) : lambda_(lambda) {}

  std::string text() const override { return fmt::format("meamed({})", lambda_); }
  bool is_combination() const noexcept override { return false; }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report&) const override {
    const std::size_t m = observed.row_count();
    const std::size_t dim = observed.dim();
    Workspace& workspace = observed.workspace();
    const std::span<const float> values = read_rows(observed, out);
    const std::span<float> result = workspace.take<float>(dim);
    observed.median(weights, out).read(result);
    const std::span<WeighedValue> column = workspace.take<WeighedValue>(m);
    for (std::size_t j = 0; j < dim; ++j) {
      for (std::size_t i = 0; i < m; ++i) {
        column[i] = {values[i * dim + j], weights.share(i), i, 0.0};
      }
      result[j] = static_cast<float>(mean_around(column, result[j], 1.0 - lambda_));
    }
    out.write(result);
    return out;
  }

 private:
  double lambda_;
};

constexpr expression::Parameter kMonnaParameters[] = {
    kLambdaParameter,
    expression::Parameter::whole("row", "the trusted row; the last one where there are fewer")
        .otherwise(0)};

}  // namespace

RulePointer make_cge(double lambda) { return std::make_unique<GradientElimination>(lambda); }

RulePointer make_monna(double lambda, std::size_t row) {
  return std::make_unique<NearestToRow>(lambda, row);
}

RulePointer make_meamed(double lambda) { return std::make_unique<MeanAroundMedian>(lambda); }

extern constinit const RuleItem kCgeRule = {
    {.name = "cge",
     .help = "weighted mean of the shortest rows, the longest LAMBDA of the weight eliminated",
     .paper = "Gupta et al. 2021",
     .parameters = kLambdaOnly},
    make_from_lambda<make_cge>};

extern constinit const RuleItem kMonnaRule = {
    {.name = "monna",
     .help = "weighted mean of the rows nearest to one trusted row",
     .paper = "Farhadkhani et al. 2023",
     .parameters = kMonnaParameters},
    [](const expression::Arguments& arguments) -> Result<RulePointer> {
      return make_monna(arguments.number("lambda"), arguments.whole("row"));
    }};

extern constinit const RuleItem kMeamedRule = {
    {.name = "meamed",
     .help = "in each coordinate the weighted mean of the values nearest to the median",
     .paper = "Xie et al. 2018",
     .parameters = kLambdaOnly},
    make_from_lambda<make_meamed>};

}  // namespace ballast::robust
