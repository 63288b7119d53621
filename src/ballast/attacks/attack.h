#pragma once
// What a Byzantine worker does. Three hooks: on its data (label_map), on its own update
// (change_update), and together with what it knows of the honest workers (collude). The server
// never hears of attacks, and timing attacks belong to the schedules of the simulator.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
};

// An attack overrides the hooks it needs; the others do what an honest worker does. Attacks are
// immutable: one serves any number of workers and threads.
class Attack : public worker::Behaviour {
 public:
  Result<std::vector<int>> label_map(int) const override { return std::vector<int>{}; }

  void change_update(const worker::SampleKey&, std::span<float>) const override {}

  // Whether the attack can be made on so many honest workers; the error says why not.
  virtual Status check_honest_count(std::size_t) const { return {}; }

  // Whether collude() does anything, so that nobody gathers a view in vain.
  virtual bool colludes() const noexcept { return false; }

  // Turns the worker's own update, as change_update left it, into the one that is sent. While there
  // are no honest rows it stays as it is: there is nothing yet to attack.
  //
  // Requires: update.size() == honest_rows.dim(), as many counts as rows, finite values.
  // Finite input of any size gives finite output.
  virtual void collude(const AdversaryView&, std::span<float>) const {}
};

using AttackPointer = std::unique_ptr<const Attack>;

}  // namespace ballast::attacks
