#pragma once
// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011): the k-th number of a stream is
// a pure function of its key, so a run does not depend on who draws first or on how many threads
// draw.

#include <array>
#include <cstdint>

namespace ballast {

// Names one stream. Different purposes, owners or steps of one seed never share numbers.
struct RngKey {
  std::uint64_t seed = 0;
  std::uint32_t purpose = 0;
  std::uint32_t owner = 0;
  std::uint64_t step = 0;
};

class Rng {
 public:
  explicit Rng(RngKey key) noexcept;
  explicit Rng(std::uint64_t seed) noexcept : Rng(RngKey{.seed = seed}) {}

  std::uint32_t next_u32() noexcept;
  std::uint64_t next_u64() noexcept;

  // Uniform on 0 .. bound - 1, without bias. Requires: bound >= 1.
  std::uint64_t below(std::uint64_t bound) noexcept;

  // Uniform on [0, 1) with 53 random bits.
  double uniform() noexcept;

  // Standard normal (Box-Muller; both values of a pair are used).
  double normal() noexcept;

 private:
  void refill() noexcept;

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
  double spare_normal_ = 0.0;
  bool has_spare_normal_ = false;
};

// The Philox4x32-10 block function itself, for tests against published vectors.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept;

}  // namespace ballast
