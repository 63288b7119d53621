#include "ballast/attacks/timing_attacks.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>
#include <vector>

#include "ballast/attacks/attack_item.h"
#include "ballast/attacks/registry.h"
#include "ballast/attacks/search_attacks.h"
#include "ballast/attacks/weighted_moments.h"
#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

constexpr std::size_t kWaitMax = 1'000'000;

// Another attack with a say in when.
class Timed : public Attack {
 public:
  explicit Timed(AttackPointer attack) : attack_(std::move(attack)) {
    BALLAST_CHECK(attack_ != nullptr && !attack_->has_memory() && !attack_->chooses_time(),
                  "the attack inside neither remembers nor chooses its time");
  }

  Result<std::vector<int>> label_map(int class_count) const final {
    return attack_->label_map(class_count);
  }
  std::optional<worker::Trigger> trigger() const final { return attack_->trigger(); }
  Status check_statistics(std::size_t count) const final {
    return attack_->check_statistics(count);
  }
  void change_update(const worker::SampleKey& key, std::span<float> update) const final {
    attack_->change_update(key, update);
  }
  void change_statistics(std::span<float> statistics) const final {
    attack_->change_statistics(statistics);
  }
  Status check_honest_count(std::size_t count) const override {
    return attack_->check_honest_count(count);
  }
  bool colludes() const noexcept final { return true; }
  bool needs_preview() const noexcept override { return attack_->needs_preview(); }
  bool chooses_time() const noexcept final { return true; }
  void collude(const AdversaryView& view, std::span<float> update) const final {
    if (attack_->colludes()) attack_->collude(view, update);
  }

 private:
  AttackPointer attack_;
};

bool is_whole(double value, double max) {
  return value >= 0.0 && value <= max && value == std::floor(value);
}

// Remembers how many of the present burst are still to be sent.
class DelayedBurst final : public Timed {
 public:
  DelayedBurst(AttackPointer attack, std::size_t length)
      : Timed(std::move(attack)), length_(length) {}

  bool has_memory() const noexcept override { return true; }

  bool holds(const AdversaryView& view, std::span<const float>) const override {
    view.memory->numbers.resize(1);
    double& left = view.memory->numbers[0];
    if (left == 0.0 && view.held_count >= length_) left = static_cast<double>(length_);
    if (left == 0.0) return true;
    left -= 1.0;
    return false;
  }

  Status check_memory(const AttackMemory& memory, const MemoryShape&) const override {
    const bool fits =
        memory.vectors.empty() && memory.numbers.size() <= 1 &&
        (memory.numbers.empty() || is_whole(memory.numbers[0], static_cast<double>(length_) - 1.0));
    if (fits) return {};
    return invalid_argument("the saved memory is not one of such a delayed-burst");
  }

 private:
  std::size_t length_;
};

class Ambush final : public Timed {
 public:
  Ambush(AttackPointer attack, std::uint32_t target) : Timed(std::move(attack)), target_(target) {}

  bool holds(const AdversaryView& view, std::span<const float>) const override {
    return view.last_honest != target_;
  }

  Status check_honest_count(std::size_t honest) const override {
    if (target_ < honest) return Timed::check_honest_count(honest);
    return invalid_argument(
        fmt::format("the target of ambush must be below {}, the number of honest workers, not {}",
                    honest, target_));
  }

 private:
  std::uint32_t target_;
};

// Remembers how many moments there were, the mean harm at these, and for how many it has waited.
class Opportunist final : public Timed {
 public:
  Opportunist(AttackPointer attack, const Patience& patience)
      : Timed(std::move(attack)), patience_(patience) {}

  bool needs_preview() const noexcept override { return true; }
  bool has_memory() const noexcept override { return true; }

  bool holds(const AdversaryView& view, std::span<const float> update) const override {
    if (view.honest_rows.row_count() == 0) return false;
    view.memory->numbers.resize(3);
    double& moments = view.memory->numbers[0];
    double& mean_harm = view.memory->numbers[1];
    double& waited = view.memory->numbers[2];
    const double harm = harm_now(view, update);
    const bool is_worth_it = harm >= patience_.factor * mean_harm;
    moments += 1.0;
    mean_harm += (harm - mean_harm) / moments;
    const bool waits = !is_worth_it && waited < static_cast<double>(patience_.chances);
    waited = waits ? waited + 1.0 : 0.0;
    return waits;
  }

  Status check_memory(const AttackMemory& memory, const MemoryShape&) const override {
    const bool fits =
        memory.vectors.empty() &&
        (memory.numbers.empty() ||
         (memory.numbers.size() == 3 && is_whole(memory.numbers[0], expression::kWholeMax) &&
          memory.numbers[1] >= 0.0 &&
          is_whole(memory.numbers[2], static_cast<double>(patience_.chances))));
    if (fits) return {};
    return invalid_argument("the saved memory is not one of such an opportunist");
  }

 private:
  double harm_now(const AdversaryView& view, std::span<const float> update) const {
    std::vector<float> forged(update.begin(), update.end());
    collude(view, forged);
    std::vector<float> mean(update.size());
    write_scaled_mean(view.honest_rows, view.honest_counts, 1.0, mean);
    return std::sqrt(harm_of(forged, mean, *view.preview).value_or(0.0));
  }

  Patience patience_;
};

using expression::Arguments;
using expression::Parameter;

constexpr Parameter kAttackParameter =
    Parameter::nested("attack", "attack", "what is sent when the time has come")
        .otherwise("sign-flip");

constexpr Parameter kBurstParameters[] = {
    kAttackParameter, Parameter::whole("length", "how many updates are sent at once")
                          .from(1)
                          .up_to(kWaitMax)
                          .otherwise(50)};

constexpr Parameter kAmbushParameters[] = {
    kAttackParameter, Parameter::whole("target", "after which of the honest workers, from 0")
                          .up_to(kWaitMax)
                          .otherwise(0)};

constexpr Parameter kOpportunistParameters[] = {
    kAttackParameter,
    Parameter::number("factor", "how much more harm than on average is worth waiting for")
        .from(0)
        .up_to(1000)
        .otherwise(1.5),
    Parameter::whole("chances", "how often an update may wait for it")
        .up_to(kWaitMax)
        .otherwise(50)};

Result<AttackPointer> inner_attack(const Arguments& arguments) {
  BALLAST_TRY(AttackPointer attack, attack_registry().make_argument(arguments, "attack"));
  if (attack->has_memory() || attack->chooses_time()) {
    return arguments.refuse("attack", "cannot wait: it remembers or chooses its own time");
  }
  return attack;
}

}  // namespace

AttackPointer make_delayed_burst(AttackPointer attack, std::size_t length) {
  BALLAST_CHECK(length >= 1, "a burst has at least one update");
  return std::make_unique<DelayedBurst>(std::move(attack), length);
}

AttackPointer make_ambush(AttackPointer attack, std::uint32_t target) {
  return std::make_unique<Ambush>(std::move(attack), target);
}

AttackPointer make_opportunist(AttackPointer attack, const Patience& patience) {
  BALLAST_CHECK(std::isfinite(patience.factor) && patience.factor >= 0.0, "no such factor");
  return std::make_unique<Opportunist>(std::move(attack), patience);
}

extern constinit const AttackItem kDelayedBurstAttack = {
    {.name = "delayed-burst",
     .help = "waits until length updates are ready, and sends them all at once",
     .parameters = kBurstParameters},
    [](const Arguments& arguments) -> Result<AttackPointer> {
      BALLAST_TRY(AttackPointer attack, inner_attack(arguments));
      return make_delayed_burst(std::move(attack), arguments.whole("length"));
    }};

extern constinit const AttackItem kAmbushAttack = {
    {.name = "ambush",
     .help = "sends right after an update of the target, and waits otherwise",
     .parameters = kAmbushParameters},
    [](const Arguments& arguments) -> Result<AttackPointer> {
      BALLAST_TRY(AttackPointer attack, inner_attack(arguments));
      return make_ambush(std::move(attack), static_cast<std::uint32_t>(arguments.whole("target")));
    }};

extern constinit const AttackItem kOpportunistAttack = {
    {.name = "opportunist",
     .help = "sends when that takes the server's direction farther from the honest mean than usual",
     .parameters = kOpportunistParameters},
    [](const Arguments& arguments) -> Result<AttackPointer> {
      BALLAST_TRY(AttackPointer attack, inner_attack(arguments));
      return make_opportunist(std::move(attack), {.factor = arguments.number("factor"),
                                                  .chances = arguments.whole("chances")});
    }};

}  // namespace ballast::attacks
