#include "ballast/attacks/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ballast/attacks/collusion_attacks.h"
#include "ballast/attacks/data_attacks.h"
#include "ballast/attacks/update_attacks.h"
#include "ballast/base/nearest_word.h"

namespace ballast::attacks {
namespace {

using Options = AttackOptions;

constexpr std::array kRegistry = {
    AttackEntry{"none", "behaves like an honest worker",
                [](const Options&) -> AttackPointer { return std::make_unique<Attack>(); }},
    AttackEntry{"label-flip", "takes label y for classes - 1 - y",
                [](const Options&) { return make_label_flip(); }},
    AttackEntry{"sign-flip", "sends the negative of its honest update",
                [](const Options&) { return make_scaled(-1.0); }},
    AttackEntry{"little", "sends the honest mean minus z deviations, z from the update counts",
                [](const Options&) { return make_little(); }},
    AttackEntry{"empire", "sends -epsilon times the honest mean",
                [](const Options& options) { return make_empire(options.epsilon); }},
    AttackEntry{"gaussian", "sends normal noise of deviation sigma",
                [](const Options& options) { return make_gaussian(options.sigma); }},
    AttackEntry{"zero", "sends zeros", [](const Options&) { return make_scaled(0.0); }},
    AttackEntry{"scaled", "sends factor times its honest update",
                [](const Options& options) { return make_scaled(options.factor); }},
    AttackEntry{"mimic", "sends a copy of the target's row",
                [](const Options& options) { return make_mimic(options.target); }},
};

tl::unexpected<Error> unknown_name(std::string_view name) {
  std::vector<std::string_view> names(kRegistry.size());
  std::ranges::transform(kRegistry, names.begin(), &AttackEntry::name);
  const auto nearest = nearest_word(name, names);
  const std::string hint = nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
  return not_found(fmt::format("there is no attack '{}'{}", name, hint));
}

Status validate(const Options& options) {
  if (!std::isfinite(options.epsilon)) return invalid_argument("epsilon is not finite");
  if (!std::isfinite(options.factor)) return invalid_argument("the factor is not finite");
  if (std::isfinite(options.sigma) && options.sigma >= 0.0) return {};
  return invalid_argument(
      fmt::format("sigma is {}; it must be finite and not negative", options.sigma));
}

}  // namespace

std::span<const AttackEntry> attack_registry() noexcept { return kRegistry; }

Result<AttackPointer> make_attack(std::string_view name, const AttackOptions& options) {
  const auto* entry = std::ranges::find(kRegistry, name, &AttackEntry::name);
  if (entry == kRegistry.end()) return unknown_name(name);
  BALLAST_TRY_STATUS(validate(options));
  return entry->make(options);
}

}  // namespace ballast::attacks
