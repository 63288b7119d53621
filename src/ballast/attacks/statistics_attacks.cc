#include "ballast/attacks/statistics_attacks.h"

#include <cmath>

#include "ballast/attacks/attack_item.h"
#include "ballast/attacks/weighted_moments.h"
#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

class BatchNorm final : public Attack {
 public:
  explicit BatchNorm(double factor) : factor_(factor) {}

  Status check_statistics(std::size_t count) const override {
    if (count > 0) return {};
    return invalid_argument(
        "batch-norm lies about the running statistics of batch normalisation, and the model has "
        "none");
  }

  void change_statistics(std::span<float> statistics) const override {
    for (float& value : statistics) value = saturate(factor_ * value + 0.0);  // no -0
  }

 private:
  double factor_;
};

using expression::Parameter;

constexpr Parameter kParameters[] = {
    Parameter::number("factor", "what the statistics are multiplied by").otherwise(100)};

}  // namespace

AttackPointer make_batch_norm(double factor) {
  BALLAST_CHECK(std::isfinite(factor), "the factor is not finite");
  return std::make_unique<BatchNorm>(factor);
}

extern constinit const AttackItem kBatchNormAttack = {
    {.name = "batch-norm",
     .help = "sends honest updates with false running statistics of batch normalisation",
     .parameters = kParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_batch_norm(arguments.number("factor"));
    }};

}  // namespace ballast::attacks
