#include "ballast/attacks/collusion_attacks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ballast/attacks/attack_item.h"
#include "ballast/attacks/normal_quantile.h"
#include "ballast/attacks/weighted_moments.h"
#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

// Leaves the update alone while there are no honest rows.
class Collusion : public Attack {
 public:
  bool colludes() const noexcept final { return true; }

  void collude(const AdversaryView& view, std::span<float> update) const final {
    if (view.honest_rows.row_count() > 0) write(view, update);
  }

 private:
  // Requires: at least one honest row.
  virtual void write(const AdversaryView& view, std::span<float> update) const = 0;
};

class Little final : public Collusion {
  void write(const AdversaryView& view, std::span<float> update) const override {
    const auto honest_count =
        std::accumulate(view.honest_counts.begin(), view.honest_counts.end(), std::uint64_t{0});
    const double z = deviations_of_little(honest_count, view.byzantine_count);
    write_shifted_mean(view.honest_rows, view.honest_counts, z, update);
  }
};

class Empire final : public Collusion {
 public:
  explicit Empire(double epsilon) : epsilon_(epsilon) {}

 private:
  void write(const AdversaryView& view, std::span<float> update) const override {
    write_scaled_mean(view.honest_rows, view.honest_counts, -epsilon_, update);
  }

  double epsilon_;
};

class Mimic final : public Collusion {
 public:
  explicit Mimic(std::size_t target) : target_(target) {}

  Status check_honest_count(std::size_t honest) const override {
    if (target_ < honest) return {};
    return invalid_argument(
        fmt::format("the target of mimic must be below {}, the number of honest workers, not {}",
                    honest, target_));
  }

 private:
  void write(const AdversaryView& view, std::span<float> update) const override {
    BALLAST_CHECK(update.size() == view.honest_rows.dim(), "the update has the wrong size");
    const std::size_t row = std::min(target_, view.honest_rows.row_count() - 1);
    std::ranges::copy(view.honest_rows.row(row), update.begin());
  }

  std::size_t target_;
};

using expression::Parameter;

constexpr Parameter kEmpireParameters[] = {
    Parameter::number("epsilon", "how long the reversed mean is").otherwise(0.1)};

constexpr Parameter kMimicParameters[] = {
    Parameter::whole("target", "which of the honest workers, from 0").otherwise(0)};

}  // namespace

double deviations_of_little(std::uint64_t honest_count, std::uint64_t byzantine_count) {
  BALLAST_CHECK(honest_count >= 1, "there are no honest updates");
  const auto honest = static_cast<double>(honest_count);
  const auto byzantine = static_cast<double>(byzantine_count);
  const double majority = std::floor((honest + byzantine) / 2.0) + 1.0;
  const double supporters = std::min(std::max(majority - byzantine, 1.0), honest / 2.0);
  return normal_quantile((honest - supporters) / honest);
}

AttackPointer make_little() { return std::make_unique<Little>(); }

AttackPointer make_empire(double epsilon) {
  BALLAST_CHECK(std::isfinite(epsilon), "epsilon is not finite");
  return std::make_unique<Empire>(epsilon);
}

AttackPointer make_mimic(std::size_t target) { return std::make_unique<Mimic>(target); }

extern constinit const AttackItem kLittleAttack = {
    {.name = "little",
     .help = "sends the honest mean minus z deviations, z from the update counts",
     .paper = "Baruch et al. 2019"},
    [](const expression::Arguments&) -> Result<AttackPointer> { return make_little(); }};

extern constinit const AttackItem kEmpireAttack = {
    {.name = "empire",
     .help = "sends -epsilon times the honest mean",
     .paper = "Xie et al. 2020",
     .parameters = kEmpireParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_empire(arguments.number("epsilon"));
    }};

extern constinit const AttackItem kMimicAttack = {
    {.name = "mimic",
     .help = "sends a copy of the target's row",
     .paper = "Karimireddy et al. 2022",
     .parameters = kMimicParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_mimic(arguments.whole("target"));
    }};

}  // namespace ballast::attacks
