#pragma once
// What a Byzantine worker does: an attack of the library by name, or a class of your own.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/error.h"
#include "ballast/gradient.h"

namespace ballast {

// What a colluder knows at the moment it sends. Borrowed.
struct AdversaryView {
  std::span<const std::span<const float>> honest_rows;  // the last accepted update of each
  std::span<const std::uint64_t> honest_counts;         // accepted updates of each, at least 1
  std::uint64_t byzantine_count = 1;                    // of all Byzantine workers, this one too
  std::span<const float> model;                         // the newest one
};

// Override what the attack needs; the rest is what an honest worker does. One attack serves all
// Byzantine workers, from several threads, so it has no state. An error or an exception ends the
// simulation.
class Attack {
 public:
  virtual ~Attack() = default;

  // On its data: the class that each class is taken for; empty: the truth.
  virtual Result<std::vector<int>> label_map(int /*class_count*/) const {
    return std::vector<int>{};
  }

  // On its own update, in place of what an honest worker would send.
  virtual Status change_update(const SampleKey& /*key*/, std::span<float> /*update*/) const {
    return {};
  }

  // With knowledge of the others, right before it is sent; asked only if colludes() and once there
  // are honest rows.
  virtual bool colludes() const { return false; }
  virtual Status collude(const AdversaryView& /*view*/, std::span<float> /*update*/) const {
    return {};
  }
};

// An attack of the library, for example "empire(0.1)".
Result<std::shared_ptr<const Attack>> parse_attack(std::string_view text);

// Every attack on a line of its own, with its parameters and what it does.
std::string list_attacks();

}  // namespace ballast
