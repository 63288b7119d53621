#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"
#include "ballast/robust/rows/mixed_rows.h"
#include "ballast/robust/rules/rule_item.h"

namespace ballast::robust {
namespace {

constexpr std::uint32_t kBucketingPurpose = 0x6275636b;  // keeps the stream apart from all others

class Bucketing final : public Rule {
 public:
  Bucketing(RulePointer base, std::size_t size, std::uint64_t seed)
      : base_(std::move(base)), size_(size), seed_(seed) {}

  std::string text() const override {
    return seed_ == 0 ? fmt::format("bucketing({}, {})", base_->text(), size_)
                      : fmt::format("bucketing({}, {}, seed={})", base_->text(), size_, seed_);
  }
  Status check_row_count(std::size_t rows) const override {
    return base_->check_row_count(bucket_count(rows));
  }
  bool is_combination() const noexcept override { return base_->is_combination(); }
  bool has_coefficients() const noexcept override { return base_->has_coefficients(); }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const Buckets buckets = fill(observed, weights);
    MixedRows mixed(observed, weights, buckets.matrix);
    const std::span<double> of_buckets = observed.workspace().take<double>(mixed.row_count());
    base_->coefficients(mixed, buckets.weights, of_buckets, report);
    mixed.unmix(of_buckets, c);
    spread_report(buckets, observed.workspace(), report);
  }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    const Buckets buckets = fill(observed, weights);
    MixedRows mixed(observed, weights, buckets.matrix);
    const kernels::Vector& result = base_->aggregate(mixed, buckets.weights, out, report);
    spread_report(buckets, observed.workspace(), report);
    return result;
  }

 private:
  struct Buckets {
    std::span<const std::size_t> bucket_of_row;
    std::span<const double> matrix;
    const kernels::Weights& weights;
  };

  std::size_t bucket_count(std::size_t rows) const { return (rows + size_ - 1) / size_; }

  std::span<std::size_t> shuffle(Observed& observed) const {
    const std::size_t m = observed.row_count();
    const std::span<std::size_t> order = observed.workspace().take<std::size_t>(m);
    std::iota(order.begin(), order.end(), std::size_t{0});
    Rng rng(RngKey{.seed = seed_, .purpose = kBucketingPurpose, .step = observed.draw()});
    for (std::size_t i = m; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    return order;
  }

  Buckets fill(Observed& observed, const kernels::Weights& weights) const {
    const std::size_t m = observed.row_count(), count = bucket_count(m);
    Workspace& workspace = observed.workspace();
    const std::span<std::size_t> order = shuffle(observed);
    const std::span<std::size_t> bucket_of_row = workspace.take<std::size_t>(m);
    const std::span<double> matrix = workspace.take<double>(count * m, 0.0);
    const std::span<double> bucket_weights = workspace.take<double>(count);
    for (std::size_t b = 0; b < count; ++b) {
      const auto rows = order.subspan(b * size_, std::min(size_, m - b * size_));
      double sum = 0.0;
      for (const std::size_t row : rows) sum += static_cast<double>(weights.units()[row]);
      for (const std::size_t row : rows) {
        bucket_of_row[row] = b;
        matrix[b * m + row] = static_cast<double>(weights.units()[row]) / sum;
      }
      // The mean weight, times the sizes of a whole bucket and of the last one: whole numbers stay
      // so.
      const std::size_t last = m - (count - 1) * size_;
      bucket_weights[b] = sum * static_cast<double>(rows.size() == size_ ? last : size_);
    }
    kernels::Weights& exact = workspace.take_weights();
    BALLAST_CHECK(exact.assign(bucket_weights), "means of positive weights are positive");
    return {bucket_of_row, matrix, exact};
  }

  // What was kept of a bucket was kept of each of its rows.
  static void spread_report(const Buckets& buckets, Workspace& workspace, Report& report) {
    if (report.kept.empty()) return;
    const std::span<double> of_buckets = workspace.take<double>(report.kept.size());
    std::ranges::copy(report.kept, of_buckets.begin());
    report.kept.resize(buckets.bucket_of_row.size());
    for (std::size_t i = 0; i < report.kept.size(); ++i) {
      report.kept[i] = of_buckets[buckets.bucket_of_row[i]];
    }
  }

  RulePointer base_;
  std::size_t size_;
  std::uint64_t seed_;
};

constexpr expression::Parameter kBucketingParameters[] = {
    kBaseParameter, expression::Parameter::whole("size", "the number of rows in a bucket").from(1),
    expression::Parameter::whole("seed", "of the permutations").otherwise(0)};

Result<RulePointer> make_bucketing_from(const expression::Arguments& arguments) {
  BALLAST_TRY(RulePointer base, rule_argument(arguments, "base"));
  return make_bucketing(std::move(base), arguments.whole("size"), arguments.whole("seed"));
}

}  // namespace

RulePointer make_bucketing(RulePointer base, std::size_t size, std::uint64_t seed) {
  return std::make_unique<Bucketing>(std::move(base), size, seed);
}

extern constinit const RuleItem kBucketingRule = {
    {.name = "bucketing",
     .help = "BASE on the means of random buckets of SIZE rows",
     .paper = "Karimireddy et al. 2022",
     .parameters = kBucketingParameters},
    make_bucketing_from};

}  // namespace ballast::robust
