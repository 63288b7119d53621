#include "ballast/attacks/search_attacks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ballast/attacks/attack_item.h"
#include "ballast/attacks/collusion_attacks.h"
#include "ballast/attacks/weighted_moments.h"
#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

constexpr double kEmpireEpsilon = 0.1;
constexpr std::size_t kStepsMax = 32;

class FactorSearch : public Attack {
 public:
  explicit FactorSearch(const FactorGrid& grid) : grid_(grid) {
    BALLAST_CHECK(std::isfinite(grid.largest) && grid.largest > 0.0 && grid.steps >= 1,
                  "a grid has a positive factor");
  }

  bool colludes() const noexcept final { return true; }
  bool needs_preview() const noexcept final { return true; }

  void collude(const AdversaryView& view, std::span<float> update) const final {
    if (view.honest_rows.row_count() == 0) return;
    BALLAST_CHECK(view.preview != nullptr, "a search needs a preview of the server");
    write(view, best_factor(view), update);
  }

 private:
  // Requires: at least one honest row.
  virtual void write(const AdversaryView& view, double factor, std::span<float> update) const = 0;
  virtual double usual_factor(const AdversaryView& view) const = 0;

  double best_factor(const AdversaryView& view) const {
    const std::size_t dim = view.honest_rows.dim();
    std::vector<float> mean(dim), trial(dim);
    write_scaled_mean(view.honest_rows, view.honest_counts, 1.0, mean);
    double best = usual_factor(view);
    double most = -1.0;
    for (std::size_t k = grid_.steps; k-- > 0;) {
      const double factor = std::ldexp(grid_.largest, -static_cast<int>(k));
      write(view, factor, trial);
      const auto harm = harm_of(trial, mean, *view.preview);
      if (!harm || *harm <= most) continue;
      most = *harm;
      best = factor;
    }
    return best;
  }

  FactorGrid grid_;
};

class LittleSearch final : public FactorSearch {
 public:
  using FactorSearch::FactorSearch;

 private:
  void write(const AdversaryView& view, double factor, std::span<float> update) const override {
    write_shifted_mean(view.honest_rows, view.honest_counts, factor, update);
  }
  double usual_factor(const AdversaryView& view) const override {
    const auto honest_count =
        std::accumulate(view.honest_counts.begin(), view.honest_counts.end(), std::uint64_t{0});
    return deviations_of_little(honest_count, view.byzantine_count);
  }
};

class EmpireSearch final : public FactorSearch {
 public:
  using FactorSearch::FactorSearch;

 private:
  void write(const AdversaryView& view, double factor, std::span<float> update) const override {
    write_scaled_mean(view.honest_rows, view.honest_counts, -factor, update);
  }
  double usual_factor(const AdversaryView&) const override { return kEmpireEpsilon; }
};

using expression::Parameter;

constexpr Parameter largest_factor(double usual) {
  return Parameter::number("largest", "the largest factor that is tried")
      .above(0)
      .up_to(1e6)
      .otherwise(usual);
}
constexpr Parameter kSteps =
    Parameter::whole("steps", "how many are tried, each half of the one before")
        .from(1)
        .up_to(kStepsMax)
        .otherwise(8);

constexpr Parameter kLittleParameters[] = {largest_factor(8), kSteps};
constexpr Parameter kEmpireParameters[] = {largest_factor(10), kSteps};

FactorGrid grid_of(const expression::Arguments& arguments) {
  return {.largest = arguments.number("largest"), .steps = arguments.whole("steps")};
}

}  // namespace

std::optional<double> harm_of(std::span<const float> update, std::span<const float> honest_mean,
                              ServerPreview& preview) {
  const std::span<const float> direction = preview.direction_after(update);
  if (direction.empty()) return std::nullopt;
  BALLAST_CHECK(direction.size() == honest_mean.size(), "a direction of another size");
  double sum = 0.0;
  for (std::size_t j = 0; j < direction.size(); ++j) {
    const double difference = double{direction[j]} - double{honest_mean[j]};
    sum += difference * difference;
  }
  return sum;
}

AttackPointer make_little_search(const FactorGrid& grid) {
  return std::make_unique<LittleSearch>(grid);
}
AttackPointer make_empire_search(const FactorGrid& grid) {
  return std::make_unique<EmpireSearch>(grid);
}

extern constinit const AttackItem kLittleSearchAttack = {
    {.name = "little-search",
     .help = "little, with the z among a few that moves the server's direction farthest from the "
             "honest mean",
     .paper = "Shejwalkar and Houmansadr 2021; ByzFL",
     .parameters = kLittleParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_little_search(grid_of(arguments));
    }};

extern constinit const AttackItem kEmpireSearchAttack = {
    {.name = "empire-search",
     .help = "empire, with the epsilon found in the same way",
     .paper = "Shejwalkar and Houmansadr 2021; ByzFL",
     .parameters = kEmpireParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_empire_search(grid_of(arguments));
    }};

}  // namespace ballast::attacks
