#include "ballast/attacks/update_attacks.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "ballast/attacks/attack_item.h"
#include "ballast/attacks/weighted_moments.h"
#include "ballast/base/check.h"
#include "ballast/base/rng.h"
#include "ballast/base/target_clones.h"

namespace ballast::attacks {
namespace {

// The purpose of this room's random numbers; part of what a seed means, never renumbered.
constexpr std::uint32_t kGaussianPurpose = 0xA77A'0001;

BALLAST_CLONES void scale(double factor, float* values, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) values[j] = saturate(factor * values[j] + 0.0);  // no -0
}

class Scaled final : public Attack {
 public:
  explicit Scaled(double factor) : factor_(factor) {}

  void change_update(const worker::SampleKey&, std::span<float> update) const override {
    scale(factor_, update.data(), update.size());
  }

 private:
  double factor_;
};

class Gaussian final : public Attack {
 public:
  explicit Gaussian(double sigma) : sigma_(sigma) {}

  void change_update(const worker::SampleKey& key, std::span<float> update) const override {
    Rng rng(RngKey{
        .seed = key.seed, .purpose = kGaussianPurpose, .owner = key.worker, .step = key.step});
    for (float& value : update) value = saturate(sigma_ * rng.normal());
  }

 private:
  double sigma_;
};

using expression::Parameter;

constexpr Parameter kGaussianParameters[] = {
    Parameter::number("sigma", "the deviation").from(0).otherwise(1)};

constexpr Parameter kScaledParameters[] = {
    Parameter::number("factor", "what the honest update is multiplied by").otherwise(-10)};

}  // namespace

AttackPointer make_scaled(double factor) {
  BALLAST_CHECK(std::isfinite(factor), "the factor is not finite");
  return std::make_unique<Scaled>(factor);
}

AttackPointer make_gaussian(double sigma) {
  BALLAST_CHECK(std::isfinite(sigma) && sigma >= 0.0, "sigma is not finite or negative");
  return std::make_unique<Gaussian>(sigma);
}

extern constinit const AttackItem kNoneAttack = {
    {.name = "none", .help = "behaves like an honest worker"},
    [](const expression::Arguments&) -> Result<AttackPointer> {
      return std::make_unique<Attack>();
    }};

extern constinit const AttackItem kSignFlipAttack = {
    {.name = "sign-flip",
     .help = "sends the negative of its honest update",
     .paper = "Allen-Zhu et al. 2020"},
    [](const expression::Arguments&) -> Result<AttackPointer> { return make_scaled(-1.0); }};

extern constinit const AttackItem kZeroAttack = {
    {.name = "zero", .help = "sends zeros"},
    [](const expression::Arguments&) -> Result<AttackPointer> { return make_scaled(0.0); }};

extern constinit const AttackItem kScaledAttack = {
    {.name = "scaled",
     .help = "sends factor times its honest update",
     .paper = "Yang and Li 2021",
     .parameters = kScaledParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_scaled(arguments.number("factor"));
    }};

extern constinit const AttackItem kGaussianAttack = {
    {.name = "gaussian",
     .help = "sends normal noise of deviation sigma",
     .parameters = kGaussianParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_gaussian(arguments.number("sigma"));
    }};

}  // namespace ballast::attacks
