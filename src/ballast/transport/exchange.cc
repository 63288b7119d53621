#include "ballast/transport/exchange.h"

#include <algorithm>
#include <future>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/finite.h"

namespace ballast::transport {

using server::Memory;
using server::Verdict;

namespace {

// A server that has not come to look for so many ticks was busy with itself.
constexpr int kTicksPerStride = 4;

tl::unexpected<Error> replaced() {
  return not_found("this stream is no longer the worker's newest");
}

}  // namespace

Exchange::Exchange(server::ParameterServer server, ExchangeOptions options)
    : options_(std::move(options)),
      dim_(server.dim()),
      statistic_count_(server.options().statistic_count),
      start_(options_.clock()),
      clock_(start_,
             options_.stride.count() > 0 ? options_.stride : kTicksPerStride * options_.tick),
      next_tick_(start_ + options_.tick),
      server_(std::move(server)),
      members_(server_.worker_count()),
      slots_(members_.size()),
      mail_(members_.size()) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].values = RowBuffer(dim_, i);
    slots_[i].statistics.resize(statistic_count_);
  }
  for (const std::string& name : server_.admission().names) {
    numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size()));
  }
  if (options_.has_thread) thread_ = std::thread([this] { run(); });
}

Exchange::~Exchange() { stop(); }

std::optional<std::uint32_t> Exchange::find(std::string_view name) const {
  const std::lock_guard lock(names_mutex_);
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

Result<std::uint32_t> Exchange::enrol(
    const std::string& name, const std::function<Status(const server::ParameterServer&)>& keep) {
  Result<std::uint32_t> number = interrupted("the server ends");
  run_on_state_thread([&] { number = enrol_now(name, keep); });
  return number;
}

// What is refused is found before it is kept, so that what is kept is enrolled.
Result<std::uint32_t> Exchange::enrol_now(
    const std::string& name, const std::function<Status(const server::ParameterServer&)>& keep) {
  if (silenced_) return interrupted("the server ends");
  BALLAST_TRY_STATUS(server_.may_enrol(name));
  BALLAST_TRY_STATUS(keep(server_));
  BALLAST_TRY(const std::uint32_t number, server_.enrol(name));
  const std::lock_guard lock(names_mutex_);
  numbers_.emplace(name, number);
  return number;
}

Exchange::Mailbox& Exchange::open_mailbox(std::uint32_t worker) {
  Mailbox& mail = mail_[worker];
  if (!mail.is_queued) {
    mail.is_queued = true;
    queue_.emplace_back([this, worker] { handle_mail(worker); });
    wake_.notify_one();
  }
  return mail;
}

void Exchange::join(std::uint32_t worker, std::shared_ptr<Peer> peer, Memory memory) {
  std::shared_ptr<Peer> displaced;
  {
    const std::lock_guard lock(mutex_);
    Mailbox& mail = open_mailbox(worker);
    displaced = std::exchange(mail.joining, std::move(peer));
    if (displaced) displaced->was_displaced_ = true;
    mail.memory = memory;
  }
  if (displaced) displaced->close(Close::kReplaced);
}

Status Exchange::begin_update(std::uint32_t worker, const Peer& peer, wire::Encoding encoding) {
  Slot& slot = slots_[worker];
  const std::lock_guard lock(slot.mutex);
  if (slot.owner != &peer || slot.is_busy) return replaced();
  slot.reader = wire::PayloadReader(slot.values.values(), slot.statistics, encoding);
  slot.is_finite = true;
  return {};
}

Result<bool> Exchange::take_chunk(std::uint32_t worker, const std::shared_ptr<Peer>& peer,
                                  const wire::Ticket& ticket, const wire::Chunk& chunk) {
  Slot& slot = slots_[worker];
  const std::lock_guard slot_lock(slot.mutex);
  if (slot.owner != peer.get() || slot.is_busy) return replaced();
  const std::size_t before = std::min(slot.reader.received_count(), dim_);
  BALLAST_TRY_STATUS(slot.reader.take(chunk));
  // Looked at here, while they are in the cache, and not on the one thread that owns the state.
  const std::size_t after = std::min(slot.reader.received_count(), dim_);
  const std::span<const float> values = slot.values.values();
  slot.is_finite = slot.is_finite && kernels::all_finite(values.subspan(before, after - before));
  if (!slot.reader.is_complete()) return false;
  slot.is_busy = true;
  const std::lock_guard lock(mutex_);
  Mailbox& mail = open_mailbox(worker);
  mail.submitted = peer;
  mail.ticket = ticket;
  return true;
}

void Exchange::refuse(std::uint32_t worker, Verdict verdict) {
  const std::lock_guard lock(mutex_);
  ++open_mailbox(worker).refusals[static_cast<std::size_t>(verdict)];
}

void Exchange::end(std::uint32_t worker, std::shared_ptr<Peer> peer, bool has_left) {
  const std::lock_guard lock(mutex_);
  // A stream that ended before its join was looked at has never been there. While the state thread
  // is busy a worker may come and go as often as it likes, so nothing is kept of that.
  if (peer->was_displaced_) return;
  Mailbox& mail = open_mailbox(worker);
  if (mail.joining == peer) {
    mail.joining.reset();
    return;
  }
  mail.ended.push_back({.peer = std::move(peer), .has_left = has_left});
}

void Exchange::revoke(std::uint32_t worker) {
  std::shared_ptr<Peer> displaced;
  {
    const std::lock_guard lock(mutex_);
    Mailbox& mail = open_mailbox(worker);
    mail.is_revoked = true;
    displaced = std::exchange(mail.joining, nullptr);
    if (displaced) displaced->was_displaced_ = true;
  }
  if (displaced) displaced->close(Close::kRevoked);
}

void Exchange::inspect(const std::function<void(const server::ParameterServer&)>& look) {
  run_on_state_thread([&] { look(server_); });
}

void Exchange::run_on_state_thread(const std::function<void()>& what) {
  if (!options_.has_thread) {
    work();
    what();
    return;
  }
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    queue_.emplace_back([&] {
      what();
      done.set_value();
    });
    wake_.notify_one();
  }
  done.get_future().wait();
}

void Exchange::stop(Close why) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_stopping_) farewell_ = why;
    is_stopping_ = true;
    wake_.notify_one();
  }
  const std::lock_guard lock(stop_mutex_);
  if (thread_.joinable()) thread_.join();
}

void Exchange::work() {
  BALLAST_CHECK(!options_.has_thread, "the state belongs to the thread");
  std::unique_lock lock(mutex_);
  while (handle_one(lock)) continue;
  if (!is_stopping_) work(lock);
  if (is_stopping_) finish(lock);
}

void Exchange::run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    wake_.wait_until(lock, next_tick_, [&] { return is_stopping_ || !queue_.empty(); });
    work(lock);
  }
  finish(lock);
}

// One thing of the queue, and a tick if one is due.
void Exchange::work(std::unique_lock<std::mutex>& lock) {
  handle_one(lock);
  if (options_.clock() < next_tick_) return;
  // Whoever has sent something is not silent, however long it has waited here.
  for (std::size_t left = queue_.size(); left > 0 && handle_one(lock); --left) continue;
  lock.unlock();
  tick();
  lock.lock();
  next_tick_ = options_.clock() + options_.tick;
}

// Whoever waits in inspect() is let go, and what is complete is judged.
void Exchange::finish(std::unique_lock<std::mutex>& lock) {
  while (handle_one(lock)) continue;
  const Close why = farewell_;
  lock.unlock();
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) close_peer(worker, why);
}

// Does the first thing in the queue, without the lock while it works. False: there is none.
bool Exchange::handle_one(std::unique_lock<std::mutex>& lock) {
  if (queue_.empty()) return false;
  const auto work = std::move(queue_.front());
  queue_.pop_front();
  lock.unlock();
  work();
  lock.lock();
  return true;
}

void Exchange::handle_mail(std::uint32_t worker) {
  Mailbox mail;
  {
    const std::lock_guard lock(mutex_);
    std::swap(mail, mail_[worker]);
  }
  for (std::size_t i = 0; i < mail.refusals.size(); ++i) {
    note_refusals(worker, static_cast<Verdict>(i), mail.refusals[i]);
  }
  if (mail.is_revoked) handle_revocation(worker);
  if (mail.submitted && !silenced_) handle_update(worker, mail);
  for (const Ended& ended : mail.ended) handle_end(worker, ended);
  if (mail.joining) handle_join(worker, std::move(mail));
}

void Exchange::note_refusals(std::uint32_t worker, Verdict verdict, std::uint32_t count) {
  if (count == 0) return;
  for (std::uint32_t i = 0; i < count; ++i) server_.refuse(worker, verdict);
  if (options_.hooks.refused) options_.hooks.refused(worker, verdict, count);
}

void Exchange::handle_update(std::uint32_t worker, const Mailbox& mail) {
  Slot& slot = slots_[worker];
  std::span<const float> values = slot.values.values();
  // The update of a stream that was replaced meanwhile must not void its successor's ticket.
  const bool is_current = members_[worker].peer == mail.submitted;
  server::Judgement judgement{.outcome = {.verdict = Verdict::kUnasked}, .next = {}};
  if (is_current) {
    judgement = server_.on_update({.worker = worker,
                                   .ticket = mail.ticket,
                                   .values = values,
                                   .statistics = slot.statistics,
                                   .memory = &slot.values,
                                   .is_checked = slot.is_finite},
                                  now());
    // What was accepted may be a row now, and the slot has other memory then.
    const auto row = server_.row(worker);
    if (judgement.outcome.verdict == Verdict::kAccepted && !row.empty()) values = row;
  } else {
    server_.refuse(worker, Verdict::kUnasked);
  }
  std::optional<Close> objection;
  if (options_.hooks.judged) {
    objection = options_.hooks.judged(server_, {.worker = worker,
                                                .ticket = mail.ticket,
                                                .outcome = judgement.outcome,
                                                .values = values,
                                                .statistics = slot.statistics});
  }
  {
    const std::lock_guard lock(slot.mutex);
    slot.is_busy = false;
  }
  if (objection) fall_silent(*objection);
  if (!is_current || silenced_) return;
  give(worker, {.verdict = judgement.outcome.verdict,
                .staleness = judgement.outcome.staleness,
                .next = std::move(judgement.next)});
  release_held();
}

void Exchange::fall_silent(Close why) {
  silenced_ = why;
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) close_peer(worker, why);
}

void Exchange::handle_end(std::uint32_t worker, const Ended& ended) {
  if (members_[worker].peer != ended.peer) return;
  members_[worker].peer.reset();
  set_owner(worker, nullptr);
  if (ended.has_left) {
    server_.on_leave(worker, now());
  } else {
    server_.on_disconnect(worker, now());
  }
  note(worker, ended.has_left ? MemberEvent::kLeft : MemberEvent::kGone);
}

void Exchange::handle_revocation(std::uint32_t worker) {
  if (silenced_) return;
  close_peer(worker, Close::kRevoked);
  server_.on_leave(worker, now());
  note(worker, MemberEvent::kRevoked);
}

void Exchange::handle_join(std::uint32_t worker, Mailbox mail) {
  if (silenced_) {
    mail.joining->close(*silenced_);
    return;
  }
  if (members_[worker].peer) {
    close_peer(worker, Close::kReplaced);
    note(worker, MemberEvent::kReplaced);
  }
  members_[worker].peer = std::move(mail.joining);
  set_owner(worker, members_[worker].peer.get());
  note(worker, MemberEvent::kJoined);
  if (options_.hooks.certificate) {
    options_.hooks.certificate(worker, members_[worker].peer->certificate());
  }
  const bool loses_its_row =
      mail.memory == server::Memory::kFresh && server_.worker(worker).count > 0;
  if (loses_its_row) note(worker, MemberEvent::kStartedAnew);
  give(worker, {.next = server_.on_join(worker, mail.memory, now())});
}

void Exchange::tick() {
  if (silenced_) return;
  for (const std::uint32_t worker : server_.evict_silent(now())) {
    close_peer(worker, Close::kEvicted);
    note(worker, MemberEvent::kEvicted);
  }
  release_held();
  come_back_later();
  if (options_.hooks.tick) options_.hooks.tick(server_);
}

void Exchange::release_held() {
  for (server::Assignment& assignment : server_.release(now())) {
    const std::uint32_t worker = assignment.ticket.worker;
    note(worker, MemberEvent::kReleased);
    give(worker, {.next = std::move(assignment)});
  }
}

void Exchange::come_back_later() {
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
    if (!server_.is_held(worker)) continue;
    if (now() - members_[worker].held_since <= options_.hold_max) continue;
    close_peer(worker, Close::kComeBack);
    server_.on_disconnect(worker, now());
  }
}

void Exchange::give(std::uint32_t worker, Delivery delivery) {
  if (!delivery.next) {
    members_[worker].held_since = now();
    note(worker, MemberEvent::kHeld);
    // A fresh join that is held has nothing to be told yet.
    if (!delivery.verdict) return;
  } else {
    server_.on_given(worker, now());
  }
  if (members_[worker].peer) members_[worker].peer->deliver(std::move(delivery));
}

void Exchange::close_peer(std::uint32_t worker, Close why) {
  const auto peer = std::exchange(members_[worker].peer, nullptr);
  // Told before its slot is taken away, or a chunk that comes in between would end the stream for
  // another reason, which may be final.
  if (peer) peer->close(why);
  set_owner(worker, nullptr);
}

void Exchange::set_owner(std::uint32_t worker, const Peer* peer) {
  const std::lock_guard lock(slots_[worker].mutex);
  slots_[worker].owner = peer;
}

void Exchange::note(std::uint32_t worker, MemberEvent event) const {
  if (options_.hooks.member) options_.hooks.member(worker, event);
}

server::Instant Exchange::now() { return clock_.at(options_.clock()); }

}  // namespace ballast::transport
