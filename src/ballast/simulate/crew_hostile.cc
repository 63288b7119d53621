// Private to simulate/: what hostile workers do. They know the protocol, share what they know, and
// hold no promise.

#include <array>
#include <limits>

#include "ballast/simulate/crew.h"

namespace ballast::simulate {

using std::chrono_literals::operator""ms;  // NOLINT(misc-unused-using-decls): literals use it

namespace {

constexpr Instant kPace = 600ms;
constexpr Instant kFloodPace = 150ms;

}  // namespace

void Crew::act_soon(std::uint32_t worker) {
  const Habit habit = world_.scenario().hostile[worker];
  const bool is_fast = habit == Habit::kFlooder || habit == Habit::kRejoiner;
  const Instant pace = habit == Habit::kSilent ? 10 * kPace : is_fast ? kFloodPace : kPace;
  plan(worker, about(pace, worker), [this, worker] { act(worker); });
}

// By its habit; now and then whatever comes to its mind.
void Crew::act(std::uint32_t worker) {
  if (is_calm_) return;
  Member& member = members_[worker];
  if (!member.stream) return connect_soon(worker);
  if (rng_[worker].below(5) == 0) {
    do_something(worker);
  } else {
    switch (world_.scenario().hostile[worker]) {
      case Habit::kMixed:
        do_something(worker);
        break;
      case Habit::kFlooder:
        send_lie(worker);
        break;
      case Habit::kRejoiner:
        send_lie(worker);
        join(worker, server::Memory::kFresh);
        break;
      case Habit::kSilent:
        break;
      case Habit::kReplayer:
        send_again(worker);
        send_lie(worker);
        break;
      case Habit::kGarbage:
        send_garbage(worker);
        break;
    }
  }
  if (members_[worker].stream) act_soon(worker);
}

void Crew::do_something(std::uint32_t worker) {
  Member& member = members_[worker];
  switch (rng_[worker].below(9)) {
    case 0:
      return join(worker, server::Memory::kFresh);
    case 1:
      return join(worker, server::Memory::kKept);
    case 2:
      return send_again(worker);
    case 3:
      return send_foreign(worker);
    case 4:
      return send_garbage(worker);
    case 5:
      world_.send_end(member.stream, true);
      return;
    case 6:
      return world_.break_stream(member.stream);
    default:
      return send_lie(worker);
  }
}

// On a new stream; the old one stays as it is.
void Crew::join(std::uint32_t worker, server::Memory memory) {
  Member& member = members_[worker];
  const StreamPointer stream = world_.connect(worker);
  if (!stream) return;
  member.old_stream = std::exchange(member.stream, stream);
  world_.send_join(stream, memory);
}

// Every value that a float can have, and every attack by its shape.
void Crew::lie(std::vector<float>& values, Rng& rng) {
  constexpr std::array<float, 8> kOdd = {0.0f,
                                         -0.0f,
                                         1.0e-45f,
                                         3.0e38f,
                                         -3.0e38f,
                                         std::numeric_limits<float>::infinity(),
                                         std::numeric_limits<float>::quiet_NaN(),
                                         1.0e20f};
  const std::uint64_t way = rng.below(6);
  for (float& value : values) {
    if (way == 0) value = -10.0f * value;
    if (way == 1) value = 1.0e4f;
    if (way == 2) value = 1.0e-40f;
    if (way == 3) value = 3.0e38f;
    if (way == 4) value = kOdd[rng.below(kOdd.size())];
  }
}

void Crew::send_lie(std::uint32_t worker) {
  Member& member = members_[worker];
  if (!member.assignment.ticket) return;
  UpdateMessage message = honest_update(worker);
  lie(message.values, rng_[worker]);
  if (rng_[worker].below(8) == 0) lie(message.statistics, rng_[worker]);
  member.sent = message;
  const bool is_on_old = member.old_stream && rng_[worker].below(6) == 0;
  world_.send_update(is_on_old ? member.old_stream : member.stream, std::move(message));
}

void Crew::send_again(std::uint32_t worker) {
  Member& member = members_[worker];
  if (!member.sent) return;
  const std::uint64_t times = 1 + rng_[worker].below(3);
  for (std::uint64_t i = 0; i < times; ++i) world_.send_update(member.stream, *member.sent);
}

// Somebody else's ticket, or one of an earlier life.
void Crew::send_foreign(std::uint32_t worker) {
  Member& member = members_[worker];
  if (seen_tickets_.empty() || !member.assignment.ticket) return;
  UpdateMessage message = honest_update(worker);
  message.ticket = seen_tickets_[rng_[worker].below(seen_tickets_.size())];
  world_.send_update(member.stream, std::move(message));
}

void Crew::send_garbage(std::uint32_t worker) {
  Member& member = members_[worker];
  if (!member.assignment.ticket) return;
  UpdateMessage message = honest_update(worker);
  constexpr std::array<UpdateFault, 4> kFaults = {UpdateFault::kNone, UpdateFault::kTooLong,
                                                  UpdateFault::kChecksum, UpdateFault::kHalf};
  message.fault = kFaults[rng_[worker].below(kFaults.size())];
  if (message.fault == UpdateFault::kNone) {
    message.ticket[rng_[worker].below(message.ticket.size())] ^= std::byte{1};
  }
  world_.send_update(member.stream, std::move(message));
}

}  // namespace ballast::simulate
