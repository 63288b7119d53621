#pragma once
// Private to sim/: shows colluding Byzantine workers what they may know.

#include <cstdint>
#include <span>
#include <vector>

#include "ballast/attacks/attack.h"
#include "ballast/server/parameter_server.h"
#include "ballast/sim/arrival.h"

namespace ballast::sim {

// Thread-safety: none; the thread that delivers owns it.
class Adversary {
 public:
  // The server and the attack, if there is one, are borrowed.
  Adversary(const Population& workers, const server::ParameterServer& server,
            const attacks::Attack* attack)
      : workers_(workers), server_(server), attack_(attack) {}

  // What the worker sends now: these values, or what a colluder turns them into. Valid until the
  // next call.
  std::span<const float> what_is_sent(std::uint32_t worker, std::span<const float> values);

 private:
  void look_around();

  Population workers_;
  const server::ParameterServer& server_;
  const attacks::Attack* attack_;

  // Kept between calls, so that they allocate little.
  std::vector<const float*> rows_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t byzantine_count_ = 0;
  std::vector<float> forged_;
};

}  // namespace ballast::sim
