// An attack of one's own that remembers and looks ahead: the liars send the usual honest update
// backwards, with the least strength that does the server the most harm. They remember the strength
// that did last time, and try it, half of it and twice of it on a copy of the server before they
// send. Prints how far each rule's model ends from the truth.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
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

class Search final : public ballast::Attack {
 public:
  bool colludes() const override { return true; }
  bool needs_preview() const override { return true; }
  ballast::MemoryNames remembers() const override {
    return {.numbers = {"strength"}, .vectors = {"usual"}};
  }

  // A running mean of the honest updates.
  ballast::Status watch(std::span<const float> update,
                        ballast::AttackMemory& memory) const override {
    std::vector<float> usual(update.begin(), update.end());
    const auto before = memory.vector("usual");  // empty at first
    for (std::size_t j = 0; j < before.size(); ++j) usual[j] = 0.9f * before[j] + 0.1f * update[j];
    memory.keep("usual", usual);
    return {};
  }

  ballast::Status collude(const ballast::AdversaryView& view,
                          std::span<float> update) const override {
    const auto usual = view.memory->vector("usual");
    const double last = std::clamp(view.memory->number("strength"), 0.2, 4.0);
    double best = last;
    double least = std::numeric_limits<double>::infinity();
    for (const double strength : {last / 2.0, last, 2.0 * last}) {
      write(usual, strength, update);
      const auto direction = view.preview->direction_after(update);  // empty: it takes no step
      double progress = 0.0;
      for (std::size_t j = 0; j < direction.size(); ++j) progress += direction[j] * usual[j];
      if (direction.empty() || progress >= least) continue;
      least = progress;
      best = strength;
    }
    write(usual, best, update);
    view.memory->set_number("strength", best);
    return {};
  }

 private:
  static void write(std::span<const float> usual, double strength, std::span<float> update) {
    for (std::size_t j = 0; j < update.size(); ++j) {
      update[j] = static_cast<float>(-strength * usual[j]);
    }
  }
};

ballast::Result<double> distance_under(const char* rule) {
  const ballast::Simulation simulation{.honest = 8,
                                       .byzantine = 3,
                                       .share = 0.4,
                                       .updates = 1000,
                                       .sources = {std::make_shared<Bowl>()},
                                       .attack = std::make_shared<Search>()};
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
    std::printf("%-18s %s\n", rule, *distance < 0.5 ? "close to the truth" : "far from the truth");
  }
}
