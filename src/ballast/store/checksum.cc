#include "ballast/store/checksum.h"

// All of xxHash is in its header: nothing to link.
#define XXH_INLINE_ALL
#include <fmt/core.h>
#include <xxhash.h>

namespace ballast::store {

struct Checksum::State {
  XXH3_state_t hash;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> bytes) noexcept {
  XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size());
}

std::string Checksum::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string checksum_text(std::span<const std::byte> bytes) {
  Checksum checksum;
  checksum.add(bytes);
  return checksum.text();
}

std::uint64_t checksum_of(std::span<const float> values) noexcept {
  return XXH3_64bits(values.data(), values.size_bytes());
}

}  // namespace ballast::store
