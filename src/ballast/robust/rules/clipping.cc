// Rules that shorten rows, or the way to them: clip and arc as a step before another rule, and
// centred clipping.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ballast/robust/rows/fresh_rows.h"
#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

// The rule over rows that are no longer than a radius. Clipped rows are no combinations of rows
// whose coefficients add up to 1, so they are computed.
const kernels::Vector& aggregate_clipped(const Rule& base, Observed& observed,
                                         std::span<const double> squared_norms, double radius,
                                         const kernels::Weights& weights, kernels::Vector& out,
                                         Report& report) {
  const std::size_t m = observed.row_count();
  Workspace& workspace = observed.workspace();
  const std::span<double> matrix = workspace.take<double>(m * m, 0.0);
  bool is_any_longer = false;
  for (std::size_t i = 0; i < m; ++i) {
    const double norm = std::sqrt(squared_norms[i]);
    matrix[i * m + i] = norm > radius ? radius / norm : 1.0;
    is_any_longer = is_any_longer || norm > radius;
  }
  if (!is_any_longer) return base.aggregate(observed, weights, out, report);
  kernels::Table& clipped = workspace.take_table(observed.backend(), observed.dim());
  observed.mix({matrix, m}, clipped);
  FreshRows rows(clipped, observed.backend(), workspace, observed.draw(), observed.previous());
  return base.aggregate(rows, weights, out, report);
}

class Clip final : public Rule {
 public:
  Clip(RulePointer base, double radius) : base_(std::move(base)), radius_(radius) {}

  std::string text() const override { return fmt::format("clip({}, {})", base_->text(), radius_); }
  Status check_row_count(std::size_t rows) const override { return base_->check_row_count(rows); }
  bool is_combination() const noexcept override { return false; }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    const std::span<double> norms = observed.workspace().take<double>(observed.row_count());
    observed.squared_norms(norms);
    return aggregate_clipped(*base_, observed, norms, radius_, weights, out, report);
  }

 private:
  RulePointer base_;
  double radius_;
};

class AdaptiveClip final : public Rule {
 public:
  AdaptiveClip(RulePointer base, double lambda) : base_(std::move(base)), lambda_(lambda) {}

  std::string text() const override { return fmt::format("arc({}, {})", base_->text(), lambda_); }
  Status check_row_count(std::size_t rows) const override { return base_->check_row_count(rows); }
  bool is_combination() const noexcept override { return false; }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    const std::span<double> norms = observed.workspace().take<double>(observed.row_count());
    observed.squared_norms(norms);
    const double radius = std::sqrt(threshold(norms, weights, observed.workspace()));
    return aggregate_clipped(*base_, observed, norms, radius, weights, out, report);
  }

 private:
  // The norm at which the rows, shortest first, reach the weight that is not clipped.
  double threshold(std::span<const double> norms, const kernels::Weights& weights,
                   Workspace& workspace) const {
    const double clipped = 2.0 * lambda_ * (1.0 - lambda_);
    const std::span<double> kept = workspace.take<double>(norms.size());
    keep_nearest(norms, weights, 1.0 - clipped, workspace, kept);
    double largest = 0.0;
    for (std::size_t i = 0; i < norms.size(); ++i) {
      if (kept[i] > 0.0) largest = std::max(largest, norms[i]);
    }
    return largest;
  }

  RulePointer base_;
  double lambda_;
};

class CentredClipping final : public Rule {
 public:
  CentredClipping(RulePointer base, double radius, std::size_t steps)
      : base_(std::move(base)), radius_(radius), steps_(steps) {}

  std::string text() const override {
    return steps_ == 1 ? fmt::format("cclip({}, {})", base_->text(), radius_)
                       : fmt::format("cclip({}, {}, steps={})", base_->text(), radius_, steps_);
  }
  Status check_row_count(std::size_t rows) const override { return base_->check_row_count(rows); }
  bool is_combination() const noexcept override { return base_->is_combination(); }
  // Not where it begins from a point that is no combination of rows: part of the way to it stays.
  bool has_coefficients() const noexcept override { return base_->has_coefficients(); }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    base_->coefficients(observed, weights, c, report);
    const std::span<double> distances = observed.workspace().take<double>(c.size());
    const std::span<double> parts = observed.workspace().take<double>(c.size());
    const Gram gram = observed.gram(weights);
    for (std::size_t step = 0; step < steps_; ++step) {
      gram.squared_distances(c, distances);
      const double moved = clip(distances, weights, parts);
      for (std::size_t i = 0; i < c.size(); ++i) c[i] += parts[i] - moved * c[i];
    }
    report.kept.assign(c.size(), 1.0);
  }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    if (is_combination()) return Rule::aggregate(observed, weights, out, report);
    const std::size_t m = observed.row_count();
    Workspace& workspace = observed.workspace();
    const std::span<double> distances = workspace.take<double>(m);
    const std::span<double> parts = workspace.take<double>(m);
    kernels::Vector& goal = workspace.take_vector(observed.backend(), observed.dim());
    kernels::Vector& spare = workspace.take_vector(observed.backend(), observed.dim());
    const kernels::Vector* point = &base_->aggregate(observed, weights, out, report);
    for (std::size_t step = 0; step < steps_; ++step) {
      observed.squared_distances(*point, distances);
      const double moved = clip(distances, weights, parts);
      for (double& part : parts) part /= moved;
      observed.combine(parts, goal);
      // Between a point and a mean of rows: finite, since both are.
      kernels::Vector& next = point == &spare ? out : spare;
      observed.backend().average(goal, *point, moved, next);
      point = &next;
    }
    report.kept.assign(m, 1.0);
    // Scratch vectors do not outlive the call, so the result is copied where it ended up in one.
    if (point != &out) observed.backend().average(*point, *point, 1.0, out);
    return out;
  }

 private:
  // parts[i] = share_i * min(1, radius / distance_i); returns their sum, in (0, 1].
  double clip(std::span<const double> squared_distances, const kernels::Weights& weights,
              std::span<double> parts) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double distance = std::sqrt(squared_distances[i]);
      parts[i] = weights.share(i) * (distance > radius_ ? radius_ / distance : 1.0);
      sum += parts[i];
    }
    return sum;
  }

  RulePointer base_;
  double radius_;
  std::size_t steps_;
};

class Previous final : public Rule {
 public:
  std::string text() const override { return "previous"; }
  bool is_combination() const noexcept override { return false; }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights&,
                                   kernels::Vector& out, Report&) const override {
    if (const kernels::Vector* const previous = observed.previous()) return *previous;
    out.write(observed.workspace().take<float>(observed.dim(), 0.0f));
    return out;
  }
};

constexpr auto kRadiusParameter =
    expression::Parameter::number("radius", "the length beyond which vectors are shortened")
        .from(1e-30)
        .up_to(1e30);

constexpr expression::Parameter kClipParameters[] = {kBaseParameter, kRadiusParameter};

constexpr expression::Parameter kCentredClippingParameters[] = {
    kBaseParameter, kRadiusParameter,
    expression::Parameter::whole("steps", "how often the point moves")
        .from(1)
        .up_to(1e6)
        .otherwise(1)};

}  // namespace

RulePointer make_clip(RulePointer base, double radius) {
  return std::make_unique<Clip>(std::move(base), radius);
}

RulePointer make_arc(RulePointer base, double lambda) {
  return std::make_unique<AdaptiveClip>(std::move(base), lambda);
}

RulePointer make_cclip(RulePointer base, double radius, std::size_t steps) {
  return std::make_unique<CentredClipping>(std::move(base), radius, steps);
}

RulePointer make_previous() { return std::make_unique<Previous>(); }

extern constinit const RuleItem kPreviousRule = {
    {.name = "previous",
     .help = "the table's result before, zero at first: the start of stateful centred clipping",
     .paper = "Karimireddy et al. 2021"},
    [](const expression::Arguments&) -> Result<RulePointer> { return make_previous(); }};

extern constinit const RuleItem kClipRule = {
    {.name = "clip",
     .help = "BASE on rows shortened to RADIUS",
     .paper = "-",
     .parameters = kClipParameters},
    [](const expression::Arguments& arguments) -> Result<RulePointer> {
      BALLAST_TRY(RulePointer base, rule_argument(arguments, "base"));
      return make_clip(std::move(base), arguments.number("radius"));
    }};

extern constinit const RuleItem kArcRule = {
    {.name = "arc",
     .help =
         "BASE on rows shortened to the length that 1 - 2 LAMBDA (1 - LAMBDA) of the weight has",
     .paper = "Allouah et al. 2025",
     .parameters = kBaseAndLambda},
    make_from_base_and_lambda<make_arc>};

extern constinit const RuleItem kCclipRule = {
    {.name = "cclip",
     .help = "centred clipping: from BASE by the mean of the ways to the rows, each at most RADIUS",
     .paper = "Karimireddy et al. 2021",
     .parameters = kCentredClippingParameters},
    [](const expression::Arguments& arguments) -> Result<RulePointer> {
      BALLAST_TRY(RulePointer base, rule_argument(arguments, "base"));
      return make_cclip(std::move(base), arguments.number("radius"), arguments.whole("steps"));
    }};

}  // namespace ballast::robust
