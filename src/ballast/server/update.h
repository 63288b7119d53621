#pragma once
// What goes into the server and what comes out of it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ballast/base/row_buffer.h"

namespace ballast::server {

// Time since the run began, by the clock of whoever calls: a wall clock, or a simulated one.
using Instant = std::chrono::nanoseconds;

// A model that nobody changes any more. Copies are cheap and may outlive the server.
struct Snapshot {
  std::uint64_t version = 0;
  std::shared_ptr<const std::vector<float>> values;
};

// An update as it arrives. Borrowed; every field may be a lie.
struct Update {
  std::uint32_t worker = 0;
  std::uint64_t sequence = 0;  // counts the worker's updates from 1
  std::uint64_t version = 0;   // of the model it was computed on
  std::span<const float> values;
  std::span<const float> statistics = {};  // running statistics of batch normalisation
  // Where the values lie, if the server may keep that memory: it leaves another buffer of the same
  // size there when it accepts the update. Null: the values are copied.
  RowBuffer* memory = nullptr;
};

// Accepted, or the first reason why not. A refused update changes nothing but its own tally.
enum class Verdict : std::uint8_t {
  kAccepted,
  kUnknownWorker,
  kWrongShape,  // too many or too few values
  kReplayed,    // a sequence number that was used already
  kUnasked,     // not computed on the model that was last given to this worker
  kStale,       // computed on too old a model
  kNotFinite,   // a NaN or an infinity
  kForged,      // with a ticket that this server never wrote
  kMalformed,   // chunks that make no update
};

inline constexpr std::size_t kVerdictCount = 9;

// In records and messages: "accepted", "unknown-worker", ...
std::string_view name(Verdict verdict) noexcept;

struct Outcome {
  Verdict verdict = Verdict::kAccepted;
  // Whether the model moved. An accepted update may leave it where it is: below the quorum of the
  // weight policy, or when the step would leave the finite numbers.
  bool has_stepped = false;
  std::uint64_t staleness = 0;  // versions between the update's model and the newest
  // What the worker computes its next update on; without values unless accepted.
  Snapshot reply = {};
};

}  // namespace ballast::server
