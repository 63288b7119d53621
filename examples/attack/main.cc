// An attack of one's own: the liars agree to send the honest mean with one coordinate turned round,
// far enough to hurt and near enough to pass. Prints how far each rule's model ends from the truth.

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "ballast/simulation.h"

namespace {

const std::vector<float> kTruth = {2.0f, -1.0f, 0.5f, 1.0f};

// The gradient of |model - truth|^2 / 2 with noise.
class Bowl final : public ballast::GradientSource {
 public:
  std::size_t dim() const override { return kTruth.size(); }
  ballast::Result<double> gradient(std::span<const float> model, const ballast::Sample& sample,
                                   std::span<float> out, std::span<float>) override {
    std::mt19937_64 generator(sample.key.mixed());
    std::normal_distribution<float> noise(0.0f, 0.3f);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = model[j] - kTruth[j] + noise(generator);
    return 0.0;
  }
};

class TurnOneRound final : public ballast::Attack {
 public:
  bool colludes() const override { return true; }
  ballast::Status collude(const ballast::AdversaryView& view,
                          std::span<float> update) const override {
    for (std::size_t j = 0; j < update.size(); ++j) {
      double sum = 0.0;
      for (const auto row : view.honest_rows) sum += row[j];
      update[j] = static_cast<float>(sum / static_cast<double>(view.honest_rows.size()));
    }
    update[0] = -5.0f * update[0] - 1.0f;
    return {};
  }
};

ballast::Result<double> distance_under(const char* rule) {
  const ballast::Simulation simulation{.honest = 8,
                                       .byzantine = 3,
                                       .share = 0.4,
                                       .updates = 1000,
                                       .sources = {std::make_shared<Bowl>()},
                                       .attack = std::make_shared<TurnOneRound>()};
  BALLAST_TRY(
      const auto result,
      ballast::simulate({.start = std::vector<float>(kTruth.size()),
                         .optimizer = {.kind = ballast::OptimizerKind::kMomentum, .eta = 0.02},
                         .rule = rule},
                        simulation));
  double sum = 0.0;
  for (std::size_t j = 0; j < kTruth.size(); ++j) {
    sum += std::pow((*result.model.values)[j] - kTruth[j], 2.0);
  }
  return std::sqrt(sum);
}

}  // namespace

int main() {
  for (const char* rule : {"mean", "unweighted(cwmed)", "cwmed", "ctma(cwmed, 0.45)"}) {
    const auto distance = distance_under(rule);
    if (!distance) return std::fprintf(stderr, "%s\n", distance.error().message.c_str()), 1;
    std::printf("%-18s %s\n", rule, *distance < 0.3 ? "close to the truth" : "far from the truth");
  }
}
