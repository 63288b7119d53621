#pragma once
// Private to sim/: shows colluding Byzantine workers what they may know. It keeps its own view of
// the honest updates, so that it does not depend on what the server's method keeps of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ballast/attacks/attack.h"
#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/sim/arrival.h"

namespace ballast::sim {

// Thread-safety: none; the thread that delivers owns it.
class Adversary {
 public:
  // The attack, if there is one, is borrowed.
  Adversary(const Population& workers, std::size_t dim, const attacks::Attack* attack);

  // What the worker sends now: these values, or what a colluder turns them into. Valid until the
  // next call.
  std::span<const float> what_is_sent(std::uint32_t worker, std::span<const float> values,
                                      const server::ParameterServer& server);

  // The server accepted these values of this worker.
  void note_accepted(std::uint32_t worker, std::span<const float> values);

  // What it keeps: nothing where nobody colludes. Borrowed until the next call.
  std::vector<std::span<const float>> seen_updates() const;
  std::vector<std::uint64_t> seen_counts() const;

  // Refuses what is not the memory of such an adversary.
  Status restore(std::vector<std::vector<float>> updates, std::vector<std::uint64_t> counts);

 private:
  bool is_watching() const { return attack_ != nullptr && attack_->colludes(); }
  void look_around();

  Population workers_;
  std::size_t dim_;
  const attacks::Attack* attack_;
  std::vector<std::vector<float>> updates_;  // of each honest worker; empty before its first
  std::vector<std::uint64_t> accepted_;      // of each worker

  // Kept between calls, so that they allocate little.
  std::vector<const float*> rows_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t byzantine_count_ = 0;
  std::vector<float> forged_;
};

}  // namespace ballast::sim
