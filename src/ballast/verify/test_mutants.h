#pragma once
// Parts with a planted bug, for tests: each is what a plausible slip would have made of one of the
// library's parts. Some claim must catch each of them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ballast/robust/rules/rules.h"
#include "ballast/verify/components.h"

namespace ballast::verify {

// ---- workers

// What a worker's estimator does wrong.
struct EstimatorSlip {
  std::function<double(double k)> beta = [](double k) { return 1.0 / k; };
  bool is_point_late = false;    // the previous gradient is taken one step after the model given
  bool is_sample_fresh = false;  // and on another sample
};

// Runs the wrong estimator itself and hands its result d to the real one as a gradient. For the
// second gradient of a sample it answers the d before, so that the real correction vanishes.
class WrongEstimator final : public SourceBetween {
 public:
  WrongEstimator(Problem& problem, EstimatorSlip slip)
      : problem_(problem), slip_(std::move(slip)) {}

  std::size_t dim() const noexcept override { return problem_.dim(); }
  int class_count() const noexcept override { return problem_.class_count(); }
  std::span<const float> initial_statistics() const noexcept override { return {}; }

  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float>) override {
    Wrong& wrong = of(sample.key.worker);
    double loss = 0.0;
    if (wrong.step != sample.key.step) {
      BALLAST_TRY(loss, advance(wrong, model, sample));
      std::ranges::copy(wrong.d, out.begin());
    } else {
      std::ranges::copy(wrong.d_before, out.begin());
    }
    return loss;
  }

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override {
    Wrong& wrong = of(record.worker);
    wrong.after_older = std::exchange(wrong.after_newest, *server.model().values);
    return sim::Next::kContinue;
  }

 private:
  struct Wrong {
    std::uint64_t step = 0;
    std::vector<float> model{}, d{}, d_before{};
    std::vector<float> after_newest{}, after_older{};  // models right after its last two arrivals
  };

  Wrong& of(std::uint32_t worker) {
    while (wrongs_.size() <= worker) {
      wrongs_.push_back({.after_newest = problem_.start(), .after_older = problem_.start()});
    }
    return wrongs_[worker];
  }

  Result<double> advance(Wrong& wrong, std::span<const float> model, worker::Sample sample) {
    std::vector<float> g(dim()), g_previous(dim());
    BALLAST_TRY(const double loss, problem_.gradient(model, sample, g, {}));
    wrong.step = sample.key.step;
    wrong.d_before = wrong.d;
    if (wrong.step > 1) {
      if (slip_.is_sample_fresh) sample.key.seed += 1'000'000;
      const auto& previous = slip_.is_point_late ? wrong.after_older : wrong.model;
      BALLAST_TRY([[maybe_unused]] const double other,
                  problem_.gradient(previous, sample, g_previous, {}));
      const double keep = 1.0 - slip_.beta(static_cast<double>(wrong.step));
      for (std::size_t j = 0; j < g.size(); ++j) {
        g[j] = static_cast<float>(g[j] + keep * (double{wrong.d_before[j]} - g_previous[j]));
      }
    }
    wrong.d = std::move(g);
    wrong.model.assign(model.begin(), model.end());
    return loss;
  }

  Problem& problem_;
  EstimatorSlip slip_;
  std::vector<Wrong> wrongs_;
};

inline Components with_estimator(const EstimatorSlip& slip) {
  Components components;
  components.make_source = [slip](Problem& problem) {
    return std::make_unique<WrongEstimator>(problem, slip);
  };
  return components;
}

// ---- rules

inline std::vector<std::vector<float>> rows_of(robust::Observed& observed) {
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

enum class TrimSlip { kKeepsTheFarthest, kKeepsTheSplitRowWhole };

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
    double left = 1.0 - lambda_, taken = 0.0;
    for (const std::size_t i : order) {
      if (left <= 1e-12) break;
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

inline Components with_upper_median() {
  Components components;
  components.make_rule = [](std::string_view text) -> Result<robust::RulePointer> {
    if (text == "cwmed") return std::make_unique<UpperMedian>();
    return robust::parse_rule(text);
  };
  return components;
}

// Requires: rules written as "ctma(BASE, LAMBDA)" with a base of one word.
inline Components with_ctma(TrimSlip slip) {
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

inline Components with_rules_that_drop_weights() {
  Components components;
  components.make_rule = [](std::string_view text) -> Result<robust::RulePointer> {
    BALLAST_TRY(auto rule, robust::parse_rule(text));
    return robust::make_unweighted(std::move(rule));
  };
  return components;
}

// ---- the server

inline Components with_weights(const server::WeightPolicy& policy) {
  Components components;
  components.choose_weights = [policy](const server::WeightPolicy&) { return policy; };
  return components;
}

// alpha_t = 1 in steps and average instead of t.
inline Components with_constant_alpha() {
  Components components;
  components.make_optimizer = [](const optim::StepOptions& step, const optim::Averaging&,
                                 std::vector<float> start) {
    return optim::make_mu2_server<float>(step, optim::ConstantAverage{.gamma = 0.1},
                                         std::move(start));
  };
  return components;
}

}  // namespace ballast::verify
