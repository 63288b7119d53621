#pragma once
// What a Byzantine worker does: an attack of the library by name, or a class of your own.
//
// An attack may lie about its data, change its own update, agree with the other Byzantine workers
// on what is sent and when, remember what it saw, and try a lie on the server's method before it
// sends it. What it may see, and what it never sees: docs/attacks.md.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/error.h"
#include "ballast/gradient.h"

namespace ballast {

// Names of what an attack remembers: lower-case letters, digits and dashes, each once in its list.
struct MemoryNames {
  std::vector<std::string> numbers = {};
  std::vector<std::string> vectors = {};

  bool operator==(const MemoryNames&) const = default;
};

// What the attack remembers from one moment of a run to the next. Each run has one, which begins
// empty and belongs to its state as the models do; the Byzantine workers share it. A name stands
// for a list of places 0, 1, 2, ..., for attacks that remember something of each worker or of each
// of the last updates.
//
// A name that the attack did not ask for, a place from kMemoryPlacesMax on, and values that are not
// finite are mistakes: nothing is remembered, and the first one is status().
class AttackMemory {
 public:
  virtual ~AttackMemory() = default;

  // 0 before it was set.
  virtual double number(std::string_view name, std::size_t place = 0) const = 0;
  virtual void set_number(std::string_view name, double value, std::size_t place = 0) = 0;

  // A copy of what was kept, of any length; empty before. Valid until the next keep().
  virtual std::span<const float> vector(std::string_view name, std::size_t place = 0) const = 0;
  virtual void keep(std::string_view name, std::span<const float> values,
                    std::size_t place = 0) = 0;

  virtual Status status() const = 0;
};

inline constexpr std::size_t kMemoryPlacesMax = 1'000'000;

// An empty memory, to try an attack by hand. Refuses names that are none.
Result<std::unique_ptr<AttackMemory>> make_attack_memory(MemoryNames names);

// What the server would do, worked out on a copy of its method that is the adversary's own. To try
// an attack by hand, derive one that answers as you please.
class ServerPreview {
 public:
  virtual ~ServerPreview() = default;

  // The direction along which the server would step, with the method's scale, if the sender sent
  // this update now. Empty: it would refuse the update, or take it in without a step. Valid until
  // the next call.
  //
  // Requires: as many values as the model has; others are a mistake that ends the simulation.
  // Cost: what an update costs the server's method and, for methods other than the row table, a
  // copy of its state.
  virtual std::span<const float> direction_after(std::span<const float> update) = 0;
};

// What a colluder knows at the moment it sends. Borrowed. In a simulation preview and memory are
// never null; to use them without having asked for them is an error.
struct AdversaryView {
  std::span<const std::span<const float>> honest_rows;  // the last accepted update of each
  std::span<const std::uint64_t> honest_counts;         // accepted updates of each, at least 1
  std::uint64_t byzantine_count = 1;                    // of all Byzantine workers, this one too
  std::span<const float> model;                         // the newest one
  std::size_t sender = 0;                               // among the Byzantine workers, from 0
  std::optional<std::uint32_t> last_honest = {};        // whose update was accepted last of these
  std::size_t held_count = 1;        // Byzantine updates that wait, this one included; for holds()
  ServerPreview* preview = nullptr;  // asked for by needs_preview()
  AttackMemory* memory = nullptr;    // asked for by remembers()
};

// Override what the attack needs; the rest is what an honest worker does. One attack serves all
// Byzantine workers of any number of simulations, so it has no state but in the memory of the run.
// An error or an exception ends the simulation with it.
//
// Thread-safety: label_map() and change_update() are called from several threads at once.
// collude(), holds() and watch() are called by one thread, in the order of the arrivals.
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
  // are honest rows. `update` is as change_update() left it.
  virtual bool colludes() const { return false; }
  virtual Status collude(const AdversaryView& /*view*/, std::span<float> /*update*/) const {
    return {};
  }

  // Whether collude() and holds() try updates on the server's method. A training with a method of
  // your own, of which there is no second, is then refused.
  virtual bool needs_preview() const { return false; }

  // What it remembers. Asked once for each run, and the same each time.
  virtual MemoryNames remembers() const { return {}; }

  // The server accepted this update of an honest worker. Called if remembers() names anything.
  virtual Status watch(std::span<const float> /*update*/, AttackMemory& /*memory*/) const {
    return {};
  }

  // Whether an update that may be sent now waits instead, until after the next update of somebody
  // else; asked again then, and only if chooses_time(). There may be no honest rows yet. What waits
  // comes later than the schedule says, and at the end of the run at last.
  virtual bool chooses_time() const { return false; }
  virtual Result<bool> holds(const AdversaryView& /*view*/,
                             std::span<const float> /*update*/) const {
    return false;
  }
};

// An attack of the library, for example "empire(0.1)". Called by hand or by an attack of your own
// that is built on it, it wants the preview and the memory that it asks for.
Result<std::shared_ptr<const Attack>> parse_attack(std::string_view text);

// Every attack on a line of its own, with its parameters and what it does.
std::string list_attacks();

}  // namespace ballast
