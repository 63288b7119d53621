#pragma once
// What a Byzantine worker does. Hooks on its data (label_map), on its own update (change_update),
// and together with the other Byzantine workers, knowing the honest ones: what is sent (collude)
// and, for some, when (holds). The server never hears of attacks. How often Byzantine workers may
// send is up to the schedules of the simulator.
//
// What an attack may see: its worker's own data and update; the last accepted update and the count
// of every honest worker; the newest model; and, if it asks for it, the server's method with its
// rule and weights, through ServerPreview. It never sees the updates that are still under way, the
// server's random numbers before they are used, or anything that it could not have worked out from
// what passed before: docs/attacks.md.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ballast/attacks/attack_memory.h"
#include "ballast/attacks/server_preview.h"
#include "ballast/base/error.h"
#include "ballast/kernels/rows.h"
#include "ballast/worker/behaviour.h"

namespace ballast::attacks {

// What a colluder knows at the moment it sends. Borrowed.
struct AdversaryView {
  kernels::RowsView honest_rows;                 // of the workers that have one, by worker id
  std::span<const std::uint64_t> honest_counts;  // accepted updates of each, at least 1
  std::uint64_t byzantine_count = 1;             // of all Byzantine workers, this update included
  std::span<const float> model;                  // the newest one
  std::size_t sender = 0;                        // among the Byzantine workers, from 0
  std::optional<std::uint32_t> last_honest{};    // whose update the server accepted last of these
  std::size_t held_count = 0;                    // Byzantine updates that wait, this one included
  ServerPreview* preview = nullptr;              // given where needs_preview()
  AttackMemory* memory = nullptr;                // given where has_memory()
};

// Extents of a run that a memory belongs to.
struct MemoryShape {
  std::size_t dim = 0;
  std::size_t byzantine_workers = 0;
};

// An attack overrides the hooks it needs; the others do what an honest worker does. Attacks are
// immutable: one serves any number of workers and threads, and what it remembers of a run is in the
// run's AttackMemory. collude(), holds() and watch() are called on one thread, in the order of the
// arrivals.
class Attack : public worker::Behaviour {
 public:
  Result<std::vector<int>> label_map(int) const override { return std::vector<int>{}; }

  void change_update(const worker::SampleKey&, std::span<float>) const override {}

  // Whether the attack can be made on so many honest workers; the error says why not.
  virtual Status check_honest_count(std::size_t) const { return {}; }

  // Whether collude() does anything, so that nobody gathers a view in vain.
  virtual bool colludes() const noexcept { return false; }

  // Whether collude() and holds() want a preview of the server; one that does colludes.
  virtual bool needs_preview() const noexcept { return false; }

  // Whether the attack remembers anything; one that does colludes. The memory begins empty.
  virtual bool has_memory() const noexcept { return false; }

  // Refuses a memory, read from a checkpoint, that this attack cannot have.
  // Requires: finite values.
  virtual Status check_memory(const AttackMemory& memory, const MemoryShape&) const {
    if (memory.is_empty()) return {};
    return invalid_argument("the attack remembers nothing");
  }

  // The server accepted this update of an honest worker. Called where has_memory().
  virtual void watch(std::span<const float>, AttackMemory&) const {}

  // Whether holds() is to be asked; one that chooses colludes.
  virtual bool chooses_time() const noexcept { return false; }

  // Whether an update that may be sent now waits instead, until after the next update of somebody
  // else; `update` is as change_update left it. Asked again then.
  virtual bool holds(const AdversaryView&, std::span<const float>) const { return false; }

  // Turns the worker's own update, as change_update left it, into the one that is sent. While there
  // are no honest rows it stays as it is: there is nothing yet to attack.
  //
  // Requires: update.size() == honest_rows.dim(), as many counts as rows, finite values.
  // Finite input of any size gives finite output.
  virtual void collude(const AdversaryView&, std::span<float>) const {}
};

using AttackPointer = std::unique_ptr<const Attack>;

}  // namespace ballast::attacks
