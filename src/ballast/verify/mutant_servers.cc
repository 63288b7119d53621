#include "ballast/verify/mutant_servers.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace ballast::verify {
namespace {

class WrongOptimizer final : public optim::ServerOptimizer<float> {
 public:
  WrongOptimizer(optim::StepOptions options, OptimizerSlip slip, std::vector<float> start)
      : options_(std::move(options)), slip_(std::move(slip)), w_(std::move(start)) {
    optim::project<float>(options_.projection, w_);
    x_ = std::make_shared<const std::vector<float>>(w_);
    if (auto* ball = std::get_if<optim::Ball>(&options_.projection); slip_.forgets_centre && ball) {
      ball->centre.clear();
    }
  }

  const Model& model() const noexcept override { return x_; }
  std::uint64_t version() const noexcept override { return steps_; }
  optim::OptimizerStateView<float> view() const noexcept override {
    return {.steps = steps_, .w = w_, .x = *x_};
  }
  Status restore(optim::OptimizerState<float>) override { return unsupported("not in a trial"); }

  Status step(const kernels::Vector& direction, double scale) override {
    std::vector<float> values(direction.size());
    direction.read(values);
    return step(std::span<const float>(values), scale);
  }

  Status step(std::span<const float> direction, double scale) override {
    const double t = static_cast<double>(++steps_);
    const double rate = options_.eta * slip_.eta_factor * slip_.alpha(t) * scale;
    std::vector<float> x = *x_;
    for (std::size_t j = 0; j < w_.size(); ++j) {
      w_[j] = static_cast<float>(w_[j] - rate * direction[j]);
    }
    if (slip_.is_projected) optim::project<float>(options_.projection, w_);
    const double share = slip_.share(t);
    for (std::size_t j = 0; j < w_.size(); ++j) {
      x[j] = static_cast<float>(x[j] + share * (double{w_[j]} - x[j]));
    }
    x_ = std::make_shared<const std::vector<float>>(std::move(x));
    return {};
  }

 private:
  optim::StepOptions options_;
  OptimizerSlip slip_;
  std::uint64_t steps_ = 0;
  std::vector<float> w_;
  Model x_;
};

// Sends the opposite of what another attack would.
class Negated final : public attacks::Attack {
 public:
  explicit Negated(attacks::AttackPointer attack) : attack_(std::move(attack)) {}

  bool colludes() const noexcept override { return true; }
  void collude(const attacks::AdversaryView& view, std::span<float> update) const override {
    attack_->collude(view, update);
    for (float& value : update) value = -value;
  }

 private:
  attacks::AttackPointer attack_;
};

// Mirrors what little sends at the mean of the honest rows.
class MirroredLittle final : public attacks::Attack {
 public:
  MirroredLittle(attacks::AttackPointer little, attacks::AttackPointer mean)
      : little_(std::move(little)), mean_(std::move(mean)) {}

  bool colludes() const noexcept override { return true; }
  void collude(const attacks::AdversaryView& view, std::span<float> update) const override {
    if (view.honest_rows.row_count() == 0) return;
    std::vector<float> mean(update.begin(), update.end());
    mean_->collude(view, mean);
    little_->collude(view, update);
    for (std::size_t j = 0; j < update.size(); ++j) update[j] = 2.0f * mean[j] - update[j];
  }

 private:
  attacks::AttackPointer little_, mean_;
};

}  // namespace

Components with_optimizer(const OptimizerSlip& slip) {
  Components components;
  components.make_optimizer =
      [slip](const optim::StepOptions& step, const optim::Averaging&,
             std::vector<float> start) -> Result<optim::ServerOptimizerPointer<float>> {
    return std::make_unique<WrongOptimizer>(step, slip, std::move(start));
  };
  return components;
}

Components with_weights(const server::WeightPolicy& policy) {
  Components components;
  components.choose_weights = [policy](const server::WeightPolicy&) { return policy; };
  return components;
}

Components with_reply(server::Reply reply) {
  Components components;
  components.choose_reply = [reply](server::Reply) { return reply; };
  return components;
}

Components with_early_liars() {
  Components components;
  components.change_arrivals = [](std::vector<sim::Arrival> arrivals,
                                  const sim::Population& workers) {
    for (std::size_t i = 1; i < arrivals.size(); ++i) {
      if (workers.is_byzantine(arrivals[i].worker)) std::swap(arrivals[i - 1], arrivals[i]);
    }
    return arrivals;
  };
  return components;
}

Components with_empire_of_the_wrong_sign() {
  Components components;
  components.make_attack = [](std::string_view text) -> Result<attacks::AttackPointer> {
    BALLAST_TRY(auto attack, attacks::make_attack(text));
    if (!text.starts_with("empire")) return attack;
    return std::make_unique<Negated>(std::move(attack));
  };
  return components;
}

Components with_little_of_the_wrong_sign() {
  Components components;
  components.make_attack = [](std::string_view text) -> Result<attacks::AttackPointer> {
    BALLAST_TRY(auto attack, attacks::make_attack(text));
    if (text != "little") return attack;
    BALLAST_TRY(auto opposite, attacks::make_attack("empire(1)"));
    return std::make_unique<MirroredLittle>(std::move(attack),
                                            std::make_unique<Negated>(std::move(opposite)));
  };
  return components;
}

}  // namespace ballast::verify
