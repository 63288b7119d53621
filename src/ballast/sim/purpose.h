#pragma once
// Names the random choices of this room.

#include <cstdint>

#include "ballast/base/rng.h"

namespace ballast::sim {

// The high half keeps them apart from those of other rooms. The values are part of what a seed
// means and are never renumbered.
enum class SimPurpose : std::uint32_t {
  kHonestSender = 0x51A0'0001,
  kByzantineSender = 0x51A0'0002,
  kComputeTime = 0x51A0'0003,
};

inline Rng stream(SimPurpose purpose, std::uint64_t seed, std::uint32_t worker = 0) noexcept {
  return Rng(RngKey{
      .seed = seed, .purpose = static_cast<std::uint32_t>(purpose), .owner = worker, .step = 0});
}

}  // namespace ballast::sim
