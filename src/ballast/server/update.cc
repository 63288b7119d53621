#include "ballast/server/update.h"

#include <array>

namespace ballast::server {

std::string_view name(Verdict verdict) noexcept {
  static constexpr std::array<std::string_view, kVerdictCount> kNames = {
      "accepted", "unknown-worker", "wrong-shape", "replayed",  "unasked",
      "stale",    "not-finite",     "forged",      "malformed", "filtered"};
  return kNames[static_cast<std::size_t>(verdict)];
}

}  // namespace ballast::server
