#include "ballast/service/server_hooks.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ballast::service {
namespace {

std::string_view name(transport::MemberEvent event) {
  switch (event) {
    case transport::MemberEvent::kJoined:
      return "joined";
    case transport::MemberEvent::kStartedAnew:
      return "started-anew";
    case transport::MemberEvent::kReplaced:
      return "replaced";
    case transport::MemberEvent::kHeld:
      return "held";
    case transport::MemberEvent::kReleased:
      return "released";
    case transport::MemberEvent::kGone:
      return "gone";
    case transport::MemberEvent::kLeft:
      return "left";
    case transport::MemberEvent::kEvicted:
      return "evicted";
    case transport::MemberEvent::kRevoked:
      return "revoked";
  }
  std::abort();
}

// Being held and released is the pace of the run, several times a second; /status shows it. That a
// worker starts anew is said by its joining.
bool is_news(transport::MemberEvent event) {
  return event != transport::MemberEvent::kHeld && event != transport::MemberEvent::kReleased &&
         event != transport::MemberEvent::kStartedAnew;
}

// Whether what the server held of the worker is gone with it.
bool is_removal(transport::MemberEvent event) {
  return event == transport::MemberEvent::kLeft || event == transport::MemberEvent::kEvicted ||
         event == transport::MemberEvent::kRevoked || event == transport::MemberEvent::kStartedAnew;
}

constexpr std::chrono::seconds kMeasureEvery{1};
constexpr std::chrono::milliseconds kStopWait{50};  // until a wish to stop is noticed

}  // namespace

ServerHooks::ServerHooks(ServerHooksOptions options, CheckpointWriter checkpoints)
    : options_(std::move(options)),
      checkpoints_(std::move(checkpoints)),
      lines_(checkpoints_.places()) {}

transport::ExchangeHooks ServerHooks::hooks() {
  return {.judged = [this](const auto& server,
                           const auto& update) { return on_judged(server, update); },
          .refused = [this](auto worker, auto verdict,
                            auto count) { on_refused(worker, verdict, count); },
          .member = [this](auto worker, auto event) { on_member(worker, event); },
          .certificate = [this](auto worker,
                                const auto& certificate) { on_certificate(worker, certificate); },
          .tick = [this](const auto& server) { on_tick(server); }};
}

ServerHooks::Objection ServerHooks::on_judged(const server::ParameterServer& server,
                                              const transport::JudgedUpdate& update) {
  if (is_closed_) return why_closed();
  if (update.outcome.verdict == server::Verdict::kAccepted) return on_accepted(server, update);
  report(update.worker, {Severity::kWarning,
                         "refused",
                         {{"worker", name_of(update.worker)},
                          {"verdict", server::name(update.outcome.verdict)},
                          {"version", update.ticket.version}}});
  return std::nullopt;
}

ServerHooks::Objection ServerHooks::on_accepted(const server::ParameterServer& server,
                                                const transport::JudgedUpdate& update) {
  const std::uint64_t accepted = server.accepted_count();
  if (const Status written = checkpoints_.journal(accepted, update); !written) {
    // The state holds what the journal does not, so it must not be saved either.
    is_closed_ = true;
    set_acknowledging(false);
    fail(written.error());
    return transport::Close::kStopping;
  }
  if (accepted >= options_.updates) {
    close(server);
    return std::nullopt;
  }
  const bool is_to_evaluate = accepted % options_.evaluate_every == 0;
  const bool is_to_write = options_.write_every > 0 && accepted % options_.write_every == 0;
  if (is_to_evaluate || is_to_write) {
    hand_over(server, {.is_to_evaluate = is_to_evaluate, .is_to_write = is_to_write});
  }
  report_save(checkpoints_.save_if_due(server));
  if (checkpoints_.unsaved(server) <= options_.unsaved_max) return std::nullopt;
  if (wait_for_checkpoint(server)) return std::nullopt;
  return transport::Close::kStopping;
}

// No more may be promised than the bound allows, so everybody waits on the thread that owns the
// state. False: the server is to stop, and this update stays without an answer.
bool ServerHooks::wait_for_checkpoint(const server::ParameterServer& server) {
  for (bool is_first = true; checkpoints_.unsaved(server) > options_.unsaved_max;) {
    const auto saved = checkpoints_.save(server);
    report_save(saved);
    if (saved) break;
    if (is_first) {
      options_.events({Severity::kError,
                       "not-acknowledging",
                       {{"unsaved", checkpoints_.unsaved(server)},
                        {"why", "too many updates are in no checkpoint; make room on the disk"}}});
    }
    is_first = false;
    set_acknowledging(false);
    publish(server);
    for (auto left = options_.retry; !is_stopped() && left.count() > 0; left -= kStopWait) {
      options_.sleep(std::min(left, kStopWait));
    }
    if (is_stopped()) return false;
  }
  if (!is_acknowledging()) options_.events({Severity::kInfo, "acknowledging"});
  set_acknowledging(true);
  return true;
}

void ServerHooks::set_acknowledging(bool is_acknowledging) {
  const std::lock_guard lock(mutex_);
  is_acknowledging_ = is_acknowledging;
}

transport::Close ServerHooks::why_closed() const {
  const std::lock_guard lock(mutex_);
  return is_complete_ ? transport::Close::kFinished : transport::Close::kStopping;
}

void ServerHooks::on_refused(std::uint32_t worker, server::Verdict verdict, std::uint32_t count) {
  report(worker,
         {Severity::kWarning,
          "refused",
          {{"worker", name_of(worker)}, {"verdict", server::name(verdict)}, {"count", count}}});
}

void ServerHooks::on_member(std::uint32_t worker, transport::MemberEvent event) {
  if (is_removal(event) && !is_closed_) checkpoints_.note_removal(worker);
  if (event == transport::MemberEvent::kRevoked) checkpoints_.note_certificate(worker, "");
  if (!is_news(event)) return;
  report(worker, {Severity::kInfo, std::string(name(event)), {{"worker", name_of(worker)}}});
}

void ServerHooks::on_certificate(std::uint32_t worker, const std::string& certificate) {
  checkpoints_.note_certificate(worker, certificate);
}

const std::string& ServerHooks::name_of(std::uint32_t worker) const {
  return checkpoints_.workers()[worker].name;
}

Status ServerHooks::keep_enrolment(const server::ParameterServer& server, const std::string& name) {
  if (is_closed_) return interrupted("the server ends");
  return checkpoints_.enrol(server, name);
}

// For events that a worker can cause at any rate: they are limited per worker.
void ServerHooks::report(std::uint32_t worker, Event event) {
  const auto left_out = lines_.spend(worker, std::chrono::steady_clock::now());
  if (!left_out) return;
  if (*left_out > 0) event.fields.push_back({"left_out", *left_out});
  options_.events(event);
}

void ServerHooks::on_tick(const server::ParameterServer& server) {
  publish_if_asked(server);
  if (is_closed_) return;
  report_save(checkpoints_.save_if_due(server));
  const auto reason = server.pause_reason();
  {
    const std::lock_guard lock(mutex_);
    const bool is_told = is_stepping_ == !reason && (is_stepping_ || is_pause_told_);
    if (is_told) return;
    is_stepping_ = !reason;
    is_pause_told_ = reason.has_value();
  }
  options_.events(reason ? Event{Severity::kWarning, "paused", {{"why", *reason}}}
                         : Event{Severity::kInfo, "stepping"});
}

void ServerHooks::publish_if_asked(const server::ParameterServer& server) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_asked_) return;
  }
  measure(server);
  publish(server);
}

void ServerHooks::measure(const server::ParameterServer& server) {
  const auto now = std::chrono::steady_clock::now();
  if (!measures_.empty() && now - measured_at_ < kMeasureEvery) return;
  measures_ = server.method().measure_rows();
  measured_at_ = now;
}

void ServerHooks::publish(const server::ParameterServer& server) {
  if (measures_.empty()) measures_.resize(checkpoints_.places());
  ServerStatus status = status_of(server, measures_);
  status.updates = options_.updates;
  status.generation = checkpoints_.generation();
  status.unsaved = checkpoints_.unsaved(server);
  status.unsaved_max = options_.unsaved_max;
  status.checkpoint_failures = checkpoints_.failure_count();
  if (const auto& resumed = checkpoints_.resumed()) status.lost_at_resume = resumed->lost;
  const std::lock_guard lock(mutex_);
  status.is_acknowledging = is_acknowledging_;
  latest_ = std::move(status);
  is_asked_ = false;
  ++publication_;
  published_.notify_all();
}

ServerStatus ServerHooks::look(std::chrono::milliseconds time_max) {
  std::unique_lock lock(mutex_);
  const std::uint64_t before = publication_;
  if (is_acknowledging_) {
    is_asked_ = true;
    published_.wait_for(lock, time_max,
                        [&] { return publication_ != before || !is_acknowledging_; });
  }
  return latest_;
}

void ServerHooks::close(const server::ParameterServer& server) {
  if (is_closed_) return;
  is_closed_ = true;
  set_acknowledging(false);
  const auto saved = checkpoints_.save(server);
  report_save(saved);
  if (!saved) fail(saved.error());
  hand_over(server, {.is_to_evaluate = true, .is_to_write = true});
  measures_.clear();  // the last status is of the end
  measure(server);
  publish(server);
  const std::lock_guard lock(mutex_);
  is_complete_ = server.accepted_count() >= options_.updates;
  changed_.notify_all();
}

// A failed checkpoint is no reason to stop: the ones before it are intact, and the next may do.
void ServerHooks::report_save(const Result<std::optional<store::SaveReport>>& saved) const {
  if (!saved) {
    options_.events({Severity::kError, "checkpoint-failed", {{"why", saved.error().message}}});
    return;
  }
  if (!*saved) return;
  const store::SaveReport& report = **saved;
  options_.events({report.warning.empty() ? Severity::kInfo : Severity::kWarning,
                   "checkpoint",
                   {{"generation", report.generation},
                    {"bytes", report.bytes_written},
                    {"warning", report.warning}}});
}

void ServerHooks::hand_over(const server::ParameterServer& server, ModelSnapshot what) {
  what.accepted = server.accepted_count();
  what.model = server.model();
  what.statistics = server.statistics();
  const std::lock_guard lock(mutex_);
  if (snapshot_) {
    what.is_to_evaluate |= snapshot_->is_to_evaluate;
    what.is_to_write |= snapshot_->is_to_write;
  }
  snapshot_ = std::move(what);
  changed_.notify_all();
}

void ServerHooks::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  changed_.notify_all();
}

void ServerHooks::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [&] { return snapshot_ || failure_ || is_complete_; });
}

std::optional<ModelSnapshot> ServerHooks::take_snapshot() {
  const std::lock_guard lock(mutex_);
  return std::exchange(snapshot_, std::nullopt);
}

bool ServerHooks::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_complete_ || failure_.has_value();
}

bool ServerHooks::is_stepping() const {
  const std::lock_guard lock(mutex_);
  return is_stepping_ && is_acknowledging_;
}

bool ServerHooks::is_acknowledging() const {
  const std::lock_guard lock(mutex_);
  return is_acknowledging_;
}

Status ServerHooks::status() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

}  // namespace ballast::service
