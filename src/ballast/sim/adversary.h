#pragma once
// Private to sim/: shows colluding Byzantine workers what they may know. It keeps its own view of
// the honest updates, so that it does not depend on what the server's method keeps of them, and the
// memory of an attack that has one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ballast/attacks/attack.h"
#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/sim/arrival.h"
#include "ballast/sim/cluster_state.h"
#include "ballast/sim/method_preview.h"

namespace ballast::sim {

// An update of a worker that may be sent now. Borrowed.
struct ReadyUpdate {
  std::uint32_t worker = 0;
  wire::Ticket ticket = {};
  std::span<const float> values;
};

// Thread-safety: none; the thread that delivers owns it.
class Adversary {
 public:
  // The attack, if there is one, and the method are borrowed.
  // Requires: a method like the server's if the attack needs a preview.
  Adversary(const Population& workers, std::size_t dim, const attacks::Attack* attack,
            server::Method* method);

  // Whether holds() can ever be true.
  bool chooses_time() const { return is_watching() && attack_->chooses_time(); }

  // Whether a Byzantine worker waits with its update; held_count are those that wait, this one
  // included.
  bool holds(const ReadyUpdate& update, const server::ParameterServer& server,
             std::size_t held_count);

  // What the worker sends now: these values, or what a colluder turns them into. Valid until the
  // next call.
  std::span<const float> what_is_sent(const ReadyUpdate& update,
                                      const server::ParameterServer& server);

  // The server accepted these values of this worker.
  void note_accepted(std::uint32_t worker, std::span<const float> values);

  // What it keeps: nothing where nobody colludes. Borrowed until the next call.
  AdversaryStateView state() const;

  // Refuses what is not the memory of such an adversary.
  Status restore(AdversaryState state);

 private:
  bool is_watching() const { return attack_ != nullptr && attack_->colludes(); }
  attacks::AdversaryView look_around(const ReadyUpdate& update,
                                     const server::ParameterServer& server, std::size_t held_count);

  Population workers_;
  std::size_t dim_;
  const attacks::Attack* attack_;
  std::optional<MethodPreview> preview_;
  std::vector<std::vector<float>> updates_;  // of each honest worker; empty before its first
  std::vector<std::uint64_t> accepted_;      // of each worker
  std::optional<std::uint32_t> last_honest_;
  attacks::AttackMemory memory_;

  // Kept between calls, so that they allocate little.
  std::vector<const float*> rows_;
  std::vector<std::uint64_t> counts_;
  std::vector<float> forged_;
};

}  // namespace ballast::sim
