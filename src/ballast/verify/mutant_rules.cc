#include "ballast/verify/mutant_rules.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "ballast/robust/rules/rules.h"

namespace ballast::verify {
namespace {

std::vector<std::vector<float>> rows_of(robust::Observed& observed) {
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i < observed.row_count(); ++i) {
    std::vector<double> unit(observed.row_count());
    unit[i] = 1.0;
    const auto row = observed.backend().make_vector(observed.dim());
    observed.combine(unit, *row);
    row->read(rows.emplace_back(observed.dim()));
  }
  return rows;
}

// cwmed that takes the upper neighbour where a prefix weighs exactly half.
class UpperMedian final : public robust::Rule {
 public:
  std::string text() const override { return "upper-median"; }
  bool is_combination() const noexcept override { return false; }
  const kernels::Vector& aggregate(robust::Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, robust::Report&) const override {
    const auto rows = rows_of(observed);
    std::vector<float> median(out.size());
    std::vector<std::size_t> order(rows.size());
    for (std::size_t j = 0; j < out.size(); ++j) {
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, {}, [&](std::size_t i) { return rows[i][j]; });
      std::uint64_t sum = 0;
      for (const std::size_t i : order) {
        median[j] = rows[i][j];
        sum += weights.units()[i];
        if (2 * sum > weights.total()) break;
      }
    }
    out.write(median);
    return out;
  }
};

class WrongCtma final : public robust::Rule {
 public:
  WrongCtma(robust::RulePointer base, double lambda, TrimSlip slip)
      : base_(std::move(base)), lambda_(lambda), slip_(slip) {}

  std::string text() const override { return "wrong-ctma"; }
  bool is_combination() const noexcept override { return false; }
  const kernels::Vector& aggregate(robust::Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, robust::Report& report) const override {
    const kernels::Vector& anchor = base_->aggregate(observed, weights, out, report);
    std::vector<double> distances(observed.row_count());
    observed.squared_distances(anchor, distances);
    observed.combine(coefficients_of(distances, weights), out);
    return out;
  }

 private:
  std::vector<double> coefficients_of(const std::vector<double>& distances,
                                      const kernels::Weights& weights) const {
    std::vector<std::size_t> order(distances.size());
    std::iota(order.begin(), order.end(), 0);
    const double sign = slip_ == TrimSlip::kKeepsTheFarthest ? -1.0 : 1.0;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sign * distances[i]; });
    std::vector<double> kept(distances.size());
    double left = 1.0 - (slip_ == TrimSlip::kCutsHalf ? lambda_ / 2.0 : lambda_), taken = 0.0;
    for (const std::size_t i : order) {
      const bool is_split = left <= weights.share(i);
      if (left <= 1e-12 || (is_split && slip_ == TrimSlip::kDropsTheSplitRow && taken > 0.0)) break;
      const bool is_whole = slip_ == TrimSlip::kKeepsTheSplitRowWhole;
      kept[i] = is_whole ? weights.share(i) : std::min(left, weights.share(i));
      left -= kept[i];
      taken += kept[i];
    }
    for (double& value : kept) value /= taken;
    return kept;
  }

  robust::RulePointer base_;
  double lambda_;
  TrimSlip slip_;
};

// A rule whose result, or whose weights, are changed on the way.
class Wrapped : public robust::Rule {
 public:
  explicit Wrapped(robust::RulePointer base) : base_(std::move(base)) {}

  std::string text() const final { return "wrapped"; }
  Status check_row_count(std::size_t rows) const final { return base_->check_row_count(rows); }
  bool is_combination() const noexcept final { return false; }

 protected:
  robust::RulePointer base_;
};

class OneUpdateMore final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  const kernels::Vector& aggregate(robust::Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, robust::Report& report) const override {
    std::vector<std::uint64_t> units(weights.units().begin(), weights.units().end());
    for (std::uint64_t& unit : units) ++unit;
    kernels::Weights larger;
    larger.assign_units(units);
    return base_->aggregate(observed, larger, out, report);
  }
};

class AveragedTwice final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  const kernels::Vector& aggregate(robust::Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, robust::Report& report) const override {
    std::vector<float> mean(out.size());
    base_->aggregate(observed, weights, out, report).read(mean);
    const auto count = static_cast<float>(observed.row_count());
    for (float& value : mean) value /= count;
    out.write(mean);
    return out;
  }
};

class Late final : public Wrapped {
 public:
  using Wrapped::Wrapped;
  const kernels::Vector& aggregate(robust::Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, robust::Report& report) const override {
    std::vector<float> now(out.size());
    base_->aggregate(observed, weights, out, report).read(now);
    if (before_.empty()) before_ = now;
    out.write(std::exchange(before_, std::move(now)));
    return out;
  }

 private:
  mutable std::vector<float> before_;  // a rule has no state; this one is wrong
};

template <typename Wrong>
Components with_wrapped() {
  Components components;
  components.make_rule = [](std::string_view text) -> Result<robust::RulePointer> {
    BALLAST_TRY(auto rule, robust::parse_rule(text));
    return std::make_unique<Wrong>(std::move(rule));
  };
  return components;
}

}  // namespace

Components with_upper_median() {
  Components components;
  components.make_rule = [](std::string_view text) -> Result<robust::RulePointer> {
    if (text == "cwmed") return std::make_unique<UpperMedian>();
    return robust::parse_rule(text);
  };
  return components;
}

// Requires: rules written as "ctma(BASE, LAMBDA)" with a base of one word.
Components with_ctma(TrimSlip slip) {
  Components components;
  components.make_rule = [slip](std::string_view text) -> Result<robust::RulePointer> {
    if (!text.starts_with("ctma(")) return robust::parse_rule(text);
    const std::size_t comma = text.find(',');
    BALLAST_TRY(auto base, robust::parse_rule(text.substr(5, comma - 5)));
    const double lambda = std::strtod(std::string(text.substr(comma + 1)).c_str(), nullptr);
    return std::make_unique<WrongCtma>(std::move(base), lambda, slip);
  };
  return components;
}

Components with_rules_that_drop_weights() {
  Components components;
  components.make_rule = [](std::string_view text) -> Result<robust::RulePointer> {
    BALLAST_TRY(auto rule, robust::parse_rule(text));
    return robust::make_unweighted(std::move(rule));
  };
  return components;
}

Components with_gm(const std::string& wrong) {
  Components components;
  components.make_rule = [wrong](std::string_view text) {
    std::string changed(text);
    if (const std::size_t place = changed.find("gm"); place != std::string::npos) {
      changed.replace(place, 2, wrong);
    }
    return robust::parse_rule(changed);
  };
  return components;
}

Components with_rule(const std::string& wrong) {
  Components components;
  components.make_rule = [wrong](std::string_view) { return robust::parse_rule(wrong); };
  return components;
}

Components with_one_update_more() { return with_wrapped<OneUpdateMore>(); }
Components with_rows_averaged_twice() { return with_wrapped<AveragedTwice>(); }
Components with_late_rules() { return with_wrapped<Late>(); }

}  // namespace ballast::verify
