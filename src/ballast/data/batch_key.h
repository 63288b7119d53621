#pragma once
// Names the random choices that belong to one batch: which samples, and how each is augmented.

#include <cstdint>

#include "ballast/base/rng.h"

namespace ballast::data {

// The same key gives the same samples with the same augmentation, so a gradient can be taken twice
// on one batch. Steps count per worker.
struct BatchKey {
  std::uint64_t seed = 0;
  std::uint32_t worker = 0;
  std::uint64_t step = 0;
};

// Every purpose this room draws random numbers for; the high half keeps them apart from those of
// other rooms. The values are part of what a seed means and are never renumbered.
enum class Purpose : std::uint32_t {
  kSampling = 0xDA7A'0001,
  kAugmentation = 0xDA7A'0002,
  kEvenSplit = 0xDA7A'0003,
  kDirichletShares = 0xDA7A'0004,
  kDirichletOrder = 0xDA7A'0005,
  kHeldOut = 0xDA7A'0006,
  kShards = 0xDA7A'0007,
};

inline Rng stream(Purpose purpose, const BatchKey& key) noexcept {
  return Rng(RngKey{.seed = key.seed,
                    .purpose = static_cast<std::uint32_t>(purpose),
                    .owner = key.worker,
                    .step = key.step});
}

}  // namespace ballast::data
