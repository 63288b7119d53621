#pragma once
// Who is in a simulated cluster, and who arrives when.

#include <cstddef>
#include <cstdint>

#include "ballast/server/update.h"

namespace ballast::sim {

using server::Instant;

// Limits on what a specification may ask for.
inline constexpr std::size_t kWorkersMax = 65'536;        // of both groups together
inline constexpr std::size_t kArrivalsMax = 100'000'000;  // of one run; 16 bytes each

// Workers are numbered honest first: 0 .. honest - 1, then the Byzantine ones.
struct Population {
  std::size_t honest = 1;
  std::size_t byzantine = 0;

  std::size_t total() const noexcept { return honest + byzantine; }
  bool is_byzantine(std::uint32_t worker) const noexcept { return worker >= honest; }
};

// An update of this worker reaches the server at this time.
struct Arrival {
  std::uint32_t worker = 0;
  Instant at = Instant::zero();

  bool operator==(const Arrival&) const = default;
};

}  // namespace ballast::sim
