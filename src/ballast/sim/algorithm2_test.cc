// Server, workers and cluster together against Algorithm 2 of the paper, written down a second time
// in plain double precision without any code of the library.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ballast/sim/schedule.h"
#include "ballast/sim/test_cluster.h"

namespace ballast::sim {
namespace {

constexpr std::size_t kDim = 4;
constexpr std::size_t kHonest = 3, kByzantine = 2, kWorkers = kHonest + kByzantine;
constexpr std::size_t kSteps = 20;
constexpr double kTolerance = 1e-5;  // of a model in float, relative to its largest value
using Vector = std::vector<double>;

// Numbers in [-1, 1] that look random, one for each (worker, update, index).
double noise(std::size_t worker, std::uint64_t update, std::size_t index) {
  const double phase = 12.9898 * static_cast<double>(worker + 1) +
                       78.233 * static_cast<double>(update) + 37.719 * static_cast<double>(index);
  return std::sin(43.7 * std::sin(phase));
}

// f(x; z) = sum_j (j + 1) (1 + z_j / 4) (x_j - j + 1)^2 / 2 + z'_j x_j / 4: the noise depends on
// the model, so it does not cancel.
Vector gradient(const Vector& x, std::size_t worker, std::uint64_t update) {
  Vector g(kDim);
  for (std::size_t j = 0; j < kDim; ++j) {
    const double a = static_cast<double>(j) + 1.0, c = static_cast<double>(j) - 1.0;
    g[j] = a * (1.0 + noise(worker, update, j) / 4.0) * (x[j] - c) +
           noise(worker, update, kDim + j) / 4.0;
  }
  return g;
}

class Source final : public worker::GradientSource {
 public:
  std::size_t dim() const noexcept override { return kDim; }
  int class_count() const noexcept override { return 0; }
  std::span<const float> initial_statistics() const noexcept override { return {}; }
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float>) override {
    const Vector g =
        sim::gradient({model.begin(), model.end()}, sample.key.worker, sample.key.step);
    std::ranges::transform(g, out.begin(), [](double value) { return static_cast<float>(value); });
    return 0.0;
  }
};

enum class Method { kTheory, kPractice, kMomentum, kSgd };

struct Case {
  Method method = Method::kTheory;
  bool is_paper_reply = true;
  bool is_median = false;  // the weighted coordinate-wise median in place of the weighted mean
  bool flips = false;      // the Byzantine workers send the negative
};

constexpr double kEta = 0.02, kRadius = 1.2, kGamma = 0.1, kBeta = 0.25, kMomentum = 0.9;

// One coordinate of the rows that exist, with its weights.
using Column = std::vector<std::pair<double, double>>;

double weighted_mean(const Column& column) {
  double sum = 0.0, total = 0.0;
  for (const auto& [value, weight] : column) {
    sum += value * weight;
    total += weight;
  }
  return sum / total;
}

double weighted_median(Column column) {
  std::ranges::sort(column);
  double total = 0.0, below = 0.0;
  for (const auto& [value, weight] : column) total += weight;
  for (std::size_t i = 0; i < column.size(); ++i) {
    below += column[i].second;
    if (2.0 * below > total) return column[i].first;
    if (2.0 * below == total) return (column[i].first + column[i + 1].first) / 2.0;
  }
  return column.back().first;
}

Vector direction(const Case& what, const std::vector<Vector>& rows, const Vector& counts) {
  Vector result(kDim);
  for (std::size_t j = 0; j < kDim; ++j) {
    Column column;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (counts[i] > 0.0) column.emplace_back(rows[i][j], counts[i]);
    }
    result[j] = what.is_median ? weighted_median(column) : weighted_mean(column);
  }
  return result;
}

Vector onto_ball(Vector w) {
  const double norm = std::sqrt(std::inner_product(w.begin(), w.end(), w.begin(), 0.0));
  for (double& value : w) value *= std::min(1.0, kRadius / norm);
  return w;
}

// x_{t+1} from all iterates w_1 .. w_{t+1} and x_t.
Vector next_model(Method method, const std::vector<Vector>& w, const Vector& x) {
  Vector next(kDim);
  for (std::size_t j = 0; j < kDim; ++j) {
    double sum = 0.0, total = 0.0;
    for (std::size_t k = 0; k < w.size(); ++k) {
      sum += static_cast<double>(k + 1) * w[k][j];
      total += static_cast<double>(k + 1);
    }
    const double newest = w.back()[j];
    if (method == Method::kTheory)
      next[j] = sum / total;
    else if (method == Method::kPractice)
      next[j] = kGamma * newest + (1.0 - kGamma) * x[j];
    else
      next[j] = newest;
  }
  return next;
}

// d_k from d_{k-1}, g at the model received and g_tilde, the same sample's at the one before.
void correct(Method method, double k, const Vector& g, const Vector& g_tilde, Vector& d) {
  const double beta = method == Method::kTheory ? 1.0 / k : kBeta;
  for (std::size_t j = 0; j < kDim; ++j) {
    if (method == Method::kMomentum)
      d[j] = kMomentum * d[j] + (1.0 - kMomentum) * g[j];
    else if (method == Method::kSgd)
      d[j] = g[j];
    else
      d[j] = g[j] + (1.0 - beta) * (d[j] - g_tilde[j]);
  }
}

// x_2, x_3, ... of Algorithm 2 from w_1 = x_1, line by line.
std::vector<Vector> transcription(const Case& what, const Vector& x1,
                                  const std::vector<Arrival>& arrivals) {
  std::vector<Vector> w = {x1}, x = {x1};
  std::vector<Vector> d(kWorkers), rows(kWorkers, Vector(kDim)), query(kWorkers, x1);
  Vector s(kWorkers);
  for (std::size_t i = 0; i < kWorkers; ++i) d[i] = gradient(x1, i, 1);
  for (std::size_t t = 1; t <= arrivals.size(); ++t) {
    const std::size_t i = arrivals[t - 1].worker;
    const double sign = what.flips && i >= kHonest ? -1.0 : 1.0;
    for (std::size_t j = 0; j < kDim; ++j) rows[i][j] = sign * d[i][j];
    s[i] += 1.0;
    const Vector along = direction(what, rows, s);
    const double alpha = what.method == Method::kTheory ? static_cast<double>(t) : 1.0;
    Vector moved = w.back();
    for (std::size_t j = 0; j < kDim; ++j) moved[j] -= kEta * alpha * along[j];
    w.push_back(what.method == Method::kTheory ? onto_ball(moved) : moved);
    x.push_back(next_model(what.method, w, x.back()));
    const Vector& reply = what.is_paper_reply ? x[t - 1] : x[t];
    const auto update = static_cast<std::uint64_t>(s[i]) + 1;
    const Vector g = gradient(reply, i, update), g_tilde = gradient(query[i], i, update);
    correct(what.method, static_cast<double>(update), g, g_tilde, d[i]);
    query[i] = reply;
  }
  return {x.begin() + 1, x.end()};
}

TestSetting setting_of(const Case& what) {
  TestSetting setting{.workers = {.honest = kHonest, .byzantine = kByzantine},
                      .averaging = std::nullopt,
                      .step = {.eta = kEta},
                      .reply = what.is_paper_reply ? server::Reply::kPaper : server::Reply::kNewest,
                      .rule = what.is_median ? "cwmed" : "mean",
                      .attack = what.flips ? "sign-flip" : "none",
                      .quadratic = {.centre = std::vector<float>(kDim)},
                      .start = {0.5f, -0.25f, 0.75f, 0.125f}};
  if (what.method == Method::kTheory) {
    setting.estimator = optim::Mu2Estimator{.beta = optim::HarmonicBeta{}};
    setting.averaging = optim::LinearAverage{};
    setting.step.projection = optim::Ball{.radius = kRadius};
  } else if (what.method == Method::kPractice) {
    setting.estimator = optim::Mu2Estimator{.beta = optim::ConstantBeta{kBeta}};
    setting.averaging = optim::ConstantAverage{kGamma};
  } else if (what.method == Method::kMomentum) {
    setting.estimator = optim::MomentumEstimator{kMomentum};
  } else {
    setting.estimator = optim::SgdEstimator{};
  }
  return setting;
}

void expect_agreement(const Case& what, const std::vector<Arrival>& arrivals) {
  const TestSetting setting = setting_of(what);
  TestCluster cluster(setting);
  Source source;
  cluster.sources.assign(kWorkers, &source);
  ASSERT_TRUE(cluster.run(arrivals).has_value());

  const Vector start(setting.start.begin(), setting.start.end());
  const auto expected = transcription(what, start, arrivals);
  ASSERT_EQ(cluster.recorder().seen.size(), expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t) {
    double largest = 0.0;
    for (const double value : expected[t]) largest = std::max(largest, std::abs(value));
    for (std::size_t j = 0; j < kDim; ++j) {
      EXPECT_NEAR(cluster.recorder().seen[t].model[j], expected[t][j], kTolerance * largest)
          << "x_" << t + 2 << "[" << j << "]";
    }
  }
}

constexpr Method kMethods[] = {Method::kTheory, Method::kPractice, Method::kMomentum, Method::kSgd};

TEST(ClusterAgainstAlgorithm2, AgreesForEveryMethodReplyAndSchedule) {
  for (const ScheduleKind kind :
       {ScheduleKind::kUniform, ScheduleKind::kId, ScheduleKind::kIdSquared,
        ScheduleKind::kRoundRobin, ScheduleKind::kBurst, ScheduleKind::kTrace}) {
    const auto arrivals = draw_arrivals({.kind = kind,
                                         .workers = {.honest = kHonest, .byzantine = kByzantine},
                                         .share = 0.4,
                                         .seed = 3,
                                         .burst_length = 3,
                                         .trace = {4, 4, 0, 4, 1, 1, 3}},
                                        kSteps)
                              .value();
    for (const Method method : kMethods) {
      for (const bool is_paper_reply : {true, false}) {
        SCOPED_TRACE(std::string(name(kind)) + ", method " +
                     std::to_string(static_cast<int>(method)) +
                     (is_paper_reply ? ", reply paper" : ", reply newest"));
        expect_agreement({.method = method, .is_paper_reply = is_paper_reply}, arrivals);
      }
    }
  }
}

TEST(ClusterAgainstAlgorithm2, AgreesForTheWeightedMedianUnderSignFlips) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto arrivals = draw_arrivals({.kind = ScheduleKind::kId,
                                         .workers = {.honest = kHonest, .byzantine = kByzantine},
                                         .share = 0.3,
                                         .seed = seed},
                                        kSteps)
                              .value();
    for (const Method method : kMethods) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", method " +
                   std::to_string(static_cast<int>(method)));
      expect_agreement({.method = method, .is_median = true, .flips = true}, arrivals);
    }
  }
}

// Without noise the corrected momentum is the gradient itself at the model that was queried,
// whatever the delays: x - centre for the quadratic.
TEST(ClusterAgainstAlgorithm2, AcceptedUpdatesAreExactGradientsWithoutNoise) {
  for (const server::Reply reply : {server::Reply::kPaper, server::Reply::kNewest}) {
    for (const double beta : {0.0, 0.25}) {
      TestSetting setting{.reply = reply};
      if (beta == 0.0) setting.estimator = optim::Mu2Estimator{.beta = optim::HarmonicBeta{}};
      setting.quadratic.noise = 0.0;
      TestCluster cluster(setting);
      const ScheduleOptions schedule{
          .kind = ScheduleKind::kIdSquared, .workers = setting.workers, .share = 0.4, .seed = 5};
      ASSERT_TRUE(cluster.run(draw_arrivals(schedule, 500).value()).has_value());

      const auto& seen = cluster.recorder().seen;
      for (const Seen& arrival : seen) {
        for (std::size_t j = 0; j < arrival.row.size(); ++j) {
          const float x = arrival.version == 0 ? 0.0f : seen[arrival.version - 1].model[j];
          ASSERT_NEAR(arrival.row[j], x - setting.quadratic.centre[j], 2e-6) << arrival.t;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ballast::sim
