#include "ballast/attacks/replay_attacks.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "ballast/attacks/attack_item.h"
#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

constexpr std::size_t kDelayMax = 1000;

// Rings of updates in a memory: ring r has the places r * size to r * size + size - 1, and
// numbers[r] counts what was put into it.
class Rings {
 public:
  Rings(AttackMemory& memory, std::size_t size) : memory_(memory), size_(size) {}

  void put(std::size_t ring, std::span<const float> update) {
    if (ring >= memory_.numbers.size()) memory_.numbers.resize(ring + 1);
    memory_.keep(place(ring, count(ring)), update);
    memory_.numbers[ring] += 1.0;
  }

  // The oldest that the ring still has; empty if it has none.
  std::span<const float> oldest(std::size_t ring) const {
    const std::uint64_t put = count(ring);
    if (put == 0) return {};
    return memory_.vectors[place(ring, put < size_ ? 0 : put)].values;
  }

 private:
  std::uint64_t count(std::size_t ring) const {
    return ring < memory_.numbers.size() ? static_cast<std::uint64_t>(memory_.numbers[ring]) : 0;
  }
  std::size_t place(std::size_t ring, std::uint64_t number) const {
    return ring * size_ + number % size_;
  }

  AttackMemory& memory_;
  std::size_t size_;
};

class StaleReplay final : public Attack {
 public:
  StaleReplay(std::size_t delay, ReplayOf of) : size_(delay + 1), of_(of) {}

  bool colludes() const noexcept override { return true; }
  bool has_memory() const noexcept override { return true; }

  void watch(std::span<const float> update, AttackMemory& memory) const override {
    if (of_ == ReplayOf::kHonest) Rings(memory, size_).put(0, update);
  }

  void collude(const AdversaryView& view, std::span<float> update) const override {
    BALLAST_CHECK(view.memory != nullptr, "a replay needs a memory");
    Rings rings(*view.memory, size_);
    const std::size_t ring = of_ == ReplayOf::kOwn ? view.sender : 0;
    if (of_ == ReplayOf::kOwn) rings.put(ring, update);
    const std::span<const float> old = rings.oldest(ring);
    if (!old.empty()) std::ranges::copy(old, update.begin());
  }

  Status check_memory(const AttackMemory& memory, const MemoryShape& shape) const override {
    const std::size_t rings_max = of_ == ReplayOf::kOwn ? shape.byzantine_workers : 1;
    bool fits = memory.numbers.size() <= rings_max &&
                memory.vectors.size() <= memory.numbers.size() * size_;
    for (std::size_t ring = 0; fits && ring < memory.numbers.size(); ++ring) {
      const double count = memory.numbers[ring];
      fits = count >= 0.0 && count <= expression::kWholeMax && count == std::floor(count);
      for (std::size_t k = 0; fits && k < size_; ++k) {
        const std::size_t place = ring * size_ + k;
        const bool is_full = static_cast<double>(k) < count;
        const std::size_t length =
            place < memory.vectors.size() ? memory.vectors[place].values.size() : 0;
        fits = length == (is_full ? shape.dim : 0);
      }
    }
    if (fits) return {};
    return invalid_argument("the saved memory is not one of such a stale-replay");
  }

 private:
  std::size_t size_;
  ReplayOf of_;
};

using expression::Parameter;

constexpr std::string_view kWhose[] = {"honest", "own"};

constexpr Parameter kParameters[] = {
    Parameter::whole("delay", "how many updates ago it was sent")
        .from(1)
        .up_to(kDelayMax)
        .otherwise(10),
    Parameter::word("of", kWhose, "whose updates").otherwise(kWhose[0])};

}  // namespace

AttackPointer make_stale_replay(std::size_t delay, ReplayOf of) {
  BALLAST_CHECK(delay >= 1, "a replay is of something earlier");
  return std::make_unique<StaleReplay>(delay, of);
}

extern constinit const AttackItem kStaleReplayAttack = {
    {.name = "stale-replay",
     .help = "sends an update again that was accepted some updates ago",
     .parameters = kParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      const ReplayOf of = arguments.word("of") == kWhose[0] ? ReplayOf::kHonest : ReplayOf::kOwn;
      return make_stale_replay(arguments.whole("delay"), of);
    }};

}  // namespace ballast::attacks
