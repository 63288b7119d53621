#include "ballast/simulate/crew.h"

#include <utility>

#include "ballast/simulate/purpose.h"
#include "ballast/simulate/toy_gradient.h"

namespace ballast::simulate {

using std::chrono_literals::operator""ms;  // NOLINT(misc-unused-using-decls): literals use it
using std::chrono_literals::operator""s;   // NOLINT(misc-unused-using-decls): literals use it

namespace {

constexpr std::size_t kWorkersMax = 32;
constexpr Instant kCompute = 800ms;  // of one update, on average
constexpr Instant kPatience = 15s;   // then an honest worker connects anew

}  // namespace

Crew::Crew(World& world) : world_(world), members_(kWorkersMax) {
  for (std::uint32_t i = 0; i < kWorkersMax; ++i) {
    rng_.emplace_back(RngKey{.seed = world.scenario().seed, .purpose = kPurposeWorker, .owner = i});
  }
}

Instant Crew::about(Instant mean, std::uint32_t worker) {
  const double factor = 0.2 + 1.6 * rng_[worker].uniform();
  return Instant(static_cast<std::int64_t>(static_cast<double>(mean.count()) * factor));
}

// Void once anything else happens to the worker.
void Crew::plan(std::uint32_t worker, Instant delay, std::function<void()> action) {
  const std::uint64_t activity = ++members_[worker].activity;
  world_.after(delay, [this, worker, activity, action = std::move(action)] {
    if (members_[worker].activity == activity) action();
  });
}

void Crew::begin(std::uint32_t worker) {
  members_[worker].has_memory = false;
  connect_soon(worker);
}

void Crew::connect_soon(std::uint32_t worker) {
  plan(worker, about(1s, worker), [this, worker] { connect(worker); });
}

void Crew::connect(std::uint32_t worker) {
  Member& member = members_[worker];
  if (is_calm_ && world_.is_hostile(worker)) return;
  member.stream = world_.connect(worker);
  if (!member.stream) {
    connect_soon(worker);
    return;
  }
  world_.send_join(member.stream,
                   member.has_memory ? server::Memory::kKept : server::Memory::kFresh);
  if (world_.is_hostile(worker)) {
    act_soon(worker);
  } else {
    watch(worker);
  }
}

// Nothing heard for a while: the connection may be dead.
void Crew::watch(std::uint32_t worker) {
  plan(worker, kPatience, [this, worker] {
    if (members_[worker].stream) world_.break_stream(members_[worker].stream);
    connect(worker);
  });
}

void Crew::on_message(const StreamPointer& stream, ModelMessage message) {
  const std::uint32_t worker = stream->worker;
  Member& member = members_[worker];
  if (world_.is_hostile(worker)) {
    if (!message.ticket) return;
    seen_tickets_.push_back(*message.ticket);
    member.assignment = std::move(message);
    act(worker);
    return;
  }
  if (stream != member.stream) return;
  if (message.verdict == server::Verdict::kAccepted) member.has_memory = true;
  if (!message.ticket) return watch(worker);
  member.assignment = std::move(message);
  compute(worker);
}

void Crew::compute(std::uint32_t worker) {
  plan(worker, about(kCompute, worker), [this, worker] {
    Member& member = members_[worker];
    world_.send_update(member.stream, honest_update(worker));
    watch(worker);
  });
}

UpdateMessage Crew::honest_update(std::uint32_t worker) {
  Member& member = members_[worker];
  Rng rng({.seed = world_.scenario().seed,
           .purpose = kPurposeValues,
           .owner = worker,
           .step = member.sent_count++});
  UpdateMessage message{.ticket = *member.assignment.ticket};
  for (std::size_t i = 0; i < member.assignment.model.size(); ++i) {
    message.values.push_back(toy_gradient(member.assignment.model[i], i, rng));
  }
  for (std::size_t i = 0; i < world_.scenario().statistic_count; ++i) {
    message.statistics.push_back(1.0f + kNoise * static_cast<float>(rng.normal()));
  }
  member.sent = message;
  return message;
}

void Crew::on_end(const StreamPointer& stream, std::optional<transport::Close> /*why*/) {
  Member& member = members_[stream->worker];
  if (stream != member.stream) return;
  member.stream.reset();
  connect_soon(stream->worker);
}

void Crew::forget(std::uint32_t worker) {
  members_[worker].has_memory = false;
  members_[worker].stream.reset();
  connect_soon(worker);
}

void Crew::calm_down() {
  is_calm_ = true;
  for (std::uint32_t i = 0; i < world_.scenario().hostile.size(); ++i) {
    ++members_[i].activity;
    for (const StreamPointer& stream : {members_[i].stream, members_[i].old_stream}) {
      if (stream) world_.break_stream(stream);
    }
  }
}

}  // namespace ballast::simulate
