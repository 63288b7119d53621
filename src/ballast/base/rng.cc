#include "ballast/base/rng.h"

#include <cmath>
#include <numbers>

namespace ballast {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;

// Spreads the bits of a 64-bit word (the finalizer of SplitMix64), so that seeds 1 and 2 differ in
// half of the key's bits.
std::uint64_t scramble(std::uint64_t word) noexcept {
  word += 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// The seed and the step make the key; the purpose, the owner and the draw number make the counter.
Rng::Rng(RngKey key) noexcept {
  const std::uint64_t mixed = scramble(scramble(key.seed) ^ key.step);
  key_ = {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)};
  counter_ = {0, 0, key.purpose, key.owner};
}

void Rng::refill() noexcept {
  block_ = philox4x32(counter_, key_);
  if (++counter_[0] == 0) ++counter_[1];
  used_ = 0;
}

std::uint32_t Rng::next_u32() noexcept {
  if (used_ == 4) refill();
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t Rng::next_u64() noexcept {
  const std::uint64_t high = next_u32();
  return high << 32 | next_u32();
}

std::uint64_t Rng::below(std::uint64_t bound) noexcept {
  // Numbers under 2^64 mod bound are drawn again, so that every residue is equally likely.
  const std::uint64_t rejected = (0 - bound) % bound;
  while (true) {
    const std::uint64_t drawn = next_u64();
    if (drawn >= rejected) return drawn % bound;
  }
}

double Rng::uniform() noexcept { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

double Rng::normal() noexcept {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

}  // namespace ballast
