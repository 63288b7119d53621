// A loss of one's own, trained in a simulated cluster in which a third of the updates lie: logistic
// regression on points that are drawn as they are needed. Prints how good the model is under the
// plain mean and under a robust rule.

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ballast/simulation.h"

namespace {

const std::vector<float> kTruth = {2.0f, -1.0f, 0.5f, 1.0f};

// Points with normal coordinates; the class is 1 with probability sigmoid(<truth, point>).
class Points {
 public:
  explicit Points(std::uint64_t seed) : generator_(seed) {}

  // Draws the next point and its class.
  bool draw(std::vector<float>& point) {
    double sum = 0.0;
    for (std::size_t j = 0; j < kTruth.size(); ++j) {
      point[j] = normal_(generator_);
      sum += kTruth[j] * point[j];
    }
    return uniform_(generator_) < 1.0 / (1.0 + std::exp(-sum));
  }

 private:
  std::mt19937_64 generator_;
  std::normal_distribution<float> normal_;
  std::uniform_real_distribution<double> uniform_;
};

class Logistic final : public ballast::GradientSource {
 public:
  std::size_t dim() const override { return kTruth.size(); }

  // The same key gives the same batch: some optimizers ask for one sample at two models.
  ballast::Result<double> gradient(std::span<const float> model, const ballast::Sample& sample,
                                   std::span<float> out, std::span<float>) override {
    Points points(sample.key.mixed());
    std::vector<float> point(kTruth.size());
    std::fill(out.begin(), out.end(), 0.0f);
    double loss = 0.0;
    for (int i = 0; i < kBatch; ++i) {
      const double truth = points.draw(point) ? 1.0 : 0.0;
      double sum = 0.0;
      for (std::size_t j = 0; j < point.size(); ++j) sum += model[j] * point[j];
      const double error = 1.0 / (1.0 + std::exp(-sum)) - truth;
      loss += std::log1p(std::exp(truth > 0.5 ? -sum : sum)) / kBatch;
      for (std::size_t j = 0; j < point.size(); ++j) {
        out[j] += static_cast<float>(error * point[j] / kBatch);
      }
    }
    return loss;
  }

 private:
  static constexpr int kBatch = 8;
};

// The share of fresh points that the model puts on the right side.
double accuracy(const std::vector<float>& model) {
  Points points(12345);
  std::vector<float> point(kTruth.size());
  int right = 0;
  for (int i = 0; i < 5000; ++i) {
    const bool truth = points.draw(point);
    double sum = 0.0;
    for (std::size_t j = 0; j < point.size(); ++j) sum += model[j] * point[j];
    right += (sum > 0.0) == truth ? 1 : 0;
  }
  return right / 5000.0;
}

ballast::Status train(const char* rule) {
  BALLAST_TRY(auto attack, ballast::parse_attack("scaled(-10)"));
  const ballast::Simulation simulation{.honest = 8,
                                       .byzantine = 3,
                                       .share = 0.35,
                                       .arrivals = "id",
                                       .updates = 1500,
                                       .sources = {std::make_shared<Logistic>()},
                                       .attack = attack};
  BALLAST_TRY(const auto result,
              ballast::simulate({.start = std::vector<float>(kTruth.size()),
                                 .optimizer = {.kind = ballast::OptimizerKind::kMu2, .eta = 0.1},
                                 .rule = rule},
                                simulation));
  const double found = accuracy(*result.model.values);
  std::printf("%s: %llu updates, %llu of them lies, %s\n", rule,
              static_cast<unsigned long long>(result.accepted),
              static_cast<unsigned long long>(result.byzantine_arrivals),
              found > accuracy(kTruth) - 0.02 ? "as good as the truth" : "worse than the truth");
  return {};
}

}  // namespace

int main() {
  for (const char* rule : {"mean", "ctma(cwmed, 0.4)"}) {
    const ballast::Status status = train(rule);
    if (!status) return std::fprintf(stderr, "%s\n", status.error().message.c_str()), 1;
  }
}
