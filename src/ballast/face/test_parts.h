#pragma once
// Parts that the tests of the face hand over: a bowl to roll down in, a method and an attack that
// behave as they are told.

#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ballast/attack.h"
#include "ballast/gradient.h"
#include "ballast/method.h"

namespace ballast::face {

// The gradient of |model - truth|^2 / 2, a little noisy.
class Bowl final : public GradientSource {
 public:
  explicit Bowl(std::vector<float> truth, double noise = 0.1)
      : truth_(std::move(truth)), noise_(noise) {}

  std::size_t dim() const override { return truth_.size(); }
  Result<double> gradient(std::span<const float> model, const Sample& sample, std::span<float> out,
                          std::span<float> /*statistics*/) override {
    std::mt19937_64 generator(sample.key.mixed());
    std::normal_distribution<float> noise(0.0f, static_cast<float>(noise_));
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = model[j] - truth_[j] + noise(generator);
    return 0.0;
  }

 private:
  std::vector<float> truth_;
  double noise_;
};

// Answers as the function says and remembers nothing.
class ToldMethod final : public Method {
 public:
  using Tell = std::function<Answer(const AcceptedUpdate&)>;
  explicit ToldMethod(Tell tell, MethodStateView state = {})
      : tell_(std::move(tell)), state_(std::move(state)) {}

  std::string description() const override { return "told"; }
  Answer on_update(const AcceptedUpdate& update) override { return tell_(update); }
  MethodStateView state() const override { return state_; }
  Status restore(MethodState /*state*/) override { return {}; }

 private:
  Tell tell_;
  MethodStateView state_;
};

// Does what the functions say, and asks for what is there to do it.
class ToldAttack final : public Attack {
 public:
  std::function<Status(const AdversaryView&, std::span<float>)> on_collude = {};
  std::function<Result<bool>(const AdversaryView&, std::span<const float>)> on_holds = {};
  std::function<Status(std::span<const float>, AttackMemory&)> on_watch = {};
  std::function<bool()> on_needs_preview = {};
  std::function<MemoryNames()> on_remembers = {};

  bool colludes() const override { return on_collude != nullptr; }
  bool chooses_time() const override { return on_holds != nullptr; }
  bool needs_preview() const override { return on_needs_preview && on_needs_preview(); }
  MemoryNames remembers() const override { return on_remembers ? on_remembers() : MemoryNames{}; }
  Status collude(const AdversaryView& view, std::span<float> update) const override {
    return on_collude(view, update);
  }
  Result<bool> holds(const AdversaryView& view, std::span<const float> update) const override {
    return on_holds(view, update);
  }
  Status watch(std::span<const float> update, AttackMemory& memory) const override {
    return on_watch ? on_watch(update, memory) : Status{};
  }
};

}  // namespace ballast::face
