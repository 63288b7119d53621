#pragma once
// When a checkpoint is due: after so many accepted updates or so much time, whichever comes first.
// Whoever owns the clock asks.
//
// Thread-safety: none; pure except for what note_saved() remembers.

#include <chrono>
#include <cstdint>
#include <optional>

#include "ballast/server/update.h"

namespace ballast::store {

class CheckpointPolicy {
 public:
  struct Options {
    std::optional<std::uint64_t> every_updates = std::nullopt;
    std::optional<std::chrono::duration<double>> every_seconds = std::nullopt;
  };

  // The state at `now`, after so many accepted updates, counts as saved.
  CheckpointPolicy(Options options, std::uint64_t accepted_count, server::Instant now) noexcept
      : options_(options), saved_count_(accepted_count), saved_at_(now) {}

  // Never while nothing was accepted since the last one.
  bool is_due(std::uint64_t accepted_count, server::Instant now) const noexcept;

  void note_saved(std::uint64_t accepted_count, server::Instant now) noexcept;

 private:
  Options options_;
  std::uint64_t saved_count_;
  server::Instant saved_at_;
};

}  // namespace ballast::store
