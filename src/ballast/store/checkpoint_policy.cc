#include "ballast/store/checkpoint_policy.h"

namespace ballast::store {

bool CheckpointPolicy::is_due(std::uint64_t accepted_count, server::Instant now) const noexcept {
  if (accepted_count <= saved_count_) return false;
  if (options_.every_updates && accepted_count - saved_count_ >= *options_.every_updates) {
    return true;
  }
  return options_.every_seconds && now - saved_at_ >= *options_.every_seconds;
}

void CheckpointPolicy::note_saved(std::uint64_t accepted_count, server::Instant now) noexcept {
  saved_count_ = accepted_count;
  saved_at_ = now;
}

}  // namespace ballast::store
