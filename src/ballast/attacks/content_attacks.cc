#include "ballast/attacks/content_attacks.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "ballast/attacks/attack_item.h"
#include "ballast/attacks/weighted_moments.h"
#include "ballast/base/check.h"
#include "ballast/base/rng.h"

namespace ballast::attacks {
namespace {

// Beside that of update_attacks.cc; part of what a seed means, never renumbered.
constexpr std::uint32_t kFixedPurpose = 0xA77A'0002;
constexpr std::uint32_t kNotFinitePurpose = 0xA77A'0003;

class FixedVector final : public Attack {
 public:
  explicit FixedVector(double length) : length_(length) {}

  void change_update(const worker::SampleKey& key, std::span<float> update) const override {
    Rng rng(RngKey{.seed = key.seed, .purpose = kFixedPurpose, .owner = 0, .step = 0});
    std::vector<double> direction(update.size());
    double squares = 0.0;
    for (double& value : direction) {
      value = rng.normal();
      squares += value * value;
    }
    const double scale = squares > 0.0 ? length_ / std::sqrt(squares) : 0.0;
    for (std::size_t j = 0; j < update.size(); ++j) update[j] = saturate(scale * direction[j]);
  }

 private:
  double length_;
};

class NotFiniteValue final : public Attack {
 public:
  explicit NotFiniteValue(float value) : value_(value) {}

  void change_update(const worker::SampleKey& key, std::span<float> update) const override {
    if (update.empty()) return;
    Rng rng(RngKey{
        .seed = key.seed, .purpose = kNotFinitePurpose, .owner = key.worker, .step = key.step});
    update[rng.below(update.size())] = value_;
  }

 private:
  float value_;
};

using expression::Parameter;

constexpr Parameter kFixedParameters[] = {
    Parameter::number("length", "of the vector").from(0).otherwise(10)};

constexpr std::string_view kValues[] = {"nan", "inf", "minus-inf"};
constexpr Parameter kNotFiniteParameters[] = {
    Parameter::word("value", kValues, "what the value is").otherwise(kValues[0])};

}  // namespace

AttackPointer make_fixed_vector(double length) {
  BALLAST_CHECK(std::isfinite(length) && length >= 0.0, "the length is not finite or negative");
  return std::make_unique<FixedVector>(length);
}

AttackPointer make_not_finite(NotFinite value) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (value == NotFinite::kNan) {
    return std::make_unique<NotFiniteValue>(std::numeric_limits<float>::quiet_NaN());
  }
  return std::make_unique<NotFiniteValue>(value == NotFinite::kInfinity ? kInfinity : -kInfinity);
}

extern constinit const AttackItem kFixedVectorAttack = {
    {.name = "fixed-vector",
     .help = "sends the same vector always, in a direction that the seed draws",
     .parameters = kFixedParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_fixed_vector(arguments.number("length"));
    }};

extern constinit const AttackItem kNotFiniteAttack = {
    {.name = "not-finite",
     .help = "sends its honest update with one value that is not finite, which is refused",
     .parameters = kNotFiniteParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      const std::string_view word = arguments.word("value");
      if (word == kValues[0]) return make_not_finite(NotFinite::kNan);
      return make_not_finite(word == kValues[1] ? NotFinite::kInfinity : NotFinite::kMinusInfinity);
    }};

}  // namespace ballast::attacks
