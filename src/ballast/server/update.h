#pragma once
// What goes into the server and what comes out of it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ballast/base/row_buffer.h"
#include "ballast/wire/ticket.h"

namespace ballast::server {

// Time since the run began, by the clock of whoever calls: a wall clock, or a simulated one.
using Instant = std::chrono::nanoseconds;

// A model that nobody changes any more. Copies are cheap and may outlive the server.
struct Snapshot {
  std::uint64_t version = 0;
  std::shared_ptr<const std::vector<float>> values;  // null: see ServerOptions::shows_models
};

// An update as it arrives. Borrowed; every field may be a lie.
struct Update {
  std::uint32_t worker = 0;  // who sent it
  wire::Ticket ticket = {};  // the permission it was sent under
  std::span<const float> values;
  std::span<const float> statistics = {};  // running statistics of batch normalisation
  // Where the values lie, if the server may keep that memory: it leaves another buffer of the same
  // size there when it keeps it. Null: the values are copied.
  RowBuffer* memory = nullptr;
  // The caller has seen that all values are finite. They are then not looked at here, and may lie
  // in the memory of the device that the method's table is on.
  bool is_checked = false;
};

// Accepted, or the first reason why not. A refused update changes nothing but its own tally.
enum class Verdict : std::uint8_t {
  kAccepted,
  kUnknownWorker,
  kWrongShape,  // too many or too few values
  kReplayed,    // under a ticket that was used already
  kUnasked,     // under a ticket that does not count: another's, an older one, one of an old life
  kStale,       // computed on too old a model
  kNotFinite,   // a NaN or an infinity
  kForged,      // with a ticket that this server never wrote
  kMalformed,   // chunks that make no update
  kFiltered,    // refused by the method, by what it holds
};

inline constexpr std::size_t kVerdictCount = 10;

// In records and messages: "accepted", "unknown-worker", ...
std::string_view name(Verdict verdict) noexcept;

struct Outcome {
  Verdict verdict = Verdict::kAccepted;
  // Whether the model moved. An accepted update may leave it where it is: while the method
  // collects, or when the step would leave the finite numbers.
  bool has_stepped = false;
  bool has_diverged = false;    // there was a direction, and no finite step along it
  std::uint64_t staleness = 0;  // versions between the update's model and the newest
};

// Permission for one update, and the model to compute it on.
struct Assignment {
  wire::Ticket ticket;
  Snapshot model;
  std::uint64_t count = 0;              // accepted updates of the worker's row: its k is one more
  std::uint64_t accepted_sequence = 0;  // of the ticket it used for the last one; 0: none yet
};

struct Judgement {
  Outcome outcome;
  std::optional<Assignment> next;  // none: held until others have moved on
};

}  // namespace ballast::server
