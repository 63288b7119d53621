#include "ballast/service/steward.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

namespace ballast::service {
namespace {

std::string_view name(transport::MemberEvent event) {
  switch (event) {
    case transport::MemberEvent::kJoined:
      return "joined";
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

// Being held and released is the pace of the run, several times a second; the figures show it.
bool is_news(transport::MemberEvent event) {
  return event != transport::MemberEvent::kHeld && event != transport::MemberEvent::kReleased;
}

constexpr std::chrono::seconds kMeasureEvery{1};

}  // namespace

Steward::Steward(StewardOptions options, Keeper keeper)
    : options_(std::move(options)), keeper_(std::move(keeper)), lines_(options_.names.size()) {}

transport::ExchangeHooks Steward::hooks() {
  return {.judged = [this](const auto& server,
                           const auto& update) { return on_judged(server, update); },
          .refused = [this](auto worker, auto verdict,
                            auto count) { on_refused(worker, verdict, count); },
          .member = [this](auto worker, auto event) { on_member(worker, event); },
          .tick = [this](const auto& server) { on_tick(server); }};
}

Steward::Objection Steward::on_judged(const server::ParameterServer& server,
                                      const transport::JudgedUpdate& update) {
  if (is_closed_) return why_closed();
  if (update.outcome.verdict == server::Verdict::kAccepted) return on_accepted(server, update);
  tell_of(update.worker, Severity::kWarning,
          fmt::format(R"("event":"refused","worker":"{}","verdict":"{}","version":{})",
                      options_.names[update.worker], server::name(update.outcome.verdict),
                      update.ticket.version));
  return std::nullopt;
}

Steward::Objection Steward::on_accepted(const server::ParameterServer& server,
                                        const transport::JudgedUpdate& update) {
  const std::uint64_t accepted = server.accepted_count();
  if (const Status noted = keeper_.note(accepted, update); !noted) {
    // The state holds what the journal does not, so it must not be saved either.
    is_closed_ = true;
    fail(noted.error());
    return transport::Close::kStopping;
  }
  if (accepted >= options_.updates) {
    close(server);
    return std::nullopt;
  }
  if (accepted % options_.evaluate_every == 0) show(server);
  report_save(keeper_.save_if_due(server));
  return std::nullopt;
}

transport::Close Steward::why_closed() const {
  const std::lock_guard lock(mutex_);
  return is_complete_ ? transport::Close::kFinished : transport::Close::kStopping;
}

void Steward::on_refused(std::uint32_t worker, server::Verdict verdict, std::uint32_t count) {
  tell_of(worker, Severity::kWarning,
          fmt::format(R"("event":"refused","worker":"{}","verdict":"{}","count":{})",
                      options_.names[worker], server::name(verdict), count));
}

void Steward::on_member(std::uint32_t worker, transport::MemberEvent event) {
  if (!is_news(event)) return;
  tell_of(worker, Severity::kInfo,
          fmt::format(R"("event":"{}","worker":"{}")", name(event), options_.names[worker]));
}

// What a worker can cause to be told as often as it likes.
void Steward::tell_of(std::uint32_t worker, Severity severity, std::string members) {
  const auto left_out = lines_.spend(worker, std::chrono::steady_clock::now());
  if (!left_out) return;
  if (*left_out > 0) members += fmt::format(R"(,"left_out":{})", *left_out);
  options_.events({severity, std::move(members)});
}

void Steward::on_tick(const server::ParameterServer& server) {
  if (is_closed_) return;
  report_save(keeper_.save_if_due(server));
  const auto reason = server.pause_reason();
  {
    const std::lock_guard lock(mutex_);
    if (is_stepping_ == !reason) return;
    is_stepping_ = !reason;
  }
  options_.events(reason
                      ? Event{Severity::kWarning, R"("event":"paused","why":)" + json_text(*reason)}
                      : Event{Severity::kInfo, R"("event":"stepping")"});
}

Figures Steward::look(const server::ParameterServer& server) {
  const auto now = std::chrono::steady_clock::now();
  if (measures_.empty() || now - measured_at_ >= kMeasureEvery) {
    measures_ = server.method().measure_rows();
    measured_at_ = now;
  }
  Figures figures = look_at(server, measures_);
  figures.updates = options_.updates;
  figures.generation = keeper_.generation();
  return figures;
}

void Steward::close(const server::ParameterServer& server) {
  if (is_closed_) return;
  is_closed_ = true;
  const auto saved = keeper_.save(server);
  report_save(saved);
  if (!saved) fail(saved.error());
  show(server);
  measures_.clear();  // the last figures are of the end
  const std::lock_guard lock(mutex_);
  last_ = look(server);
  is_complete_ = server.accepted_count() >= options_.updates;
  changed_.notify_all();
}

// A failed checkpoint is no reason to stop: the ones before it are intact, and the next may do.
void Steward::report_save(const Result<std::optional<store::SaveReport>>& saved) const {
  if (!saved) {
    options_.events({Severity::kError,
                     R"("event":"checkpoint-failed","why":)" + json_text(saved.error().message)});
    return;
  }
  if (!*saved) return;
  const store::SaveReport& report = **saved;
  options_.events(
      {report.warning.empty() ? Severity::kInfo : Severity::kWarning,
       fmt::format(R"("event":"checkpoint","generation":{},"bytes":{},"warning":{})",
                   report.generation, report.bytes_written, json_text(report.warning))});
}

void Steward::show(const server::ParameterServer& server) {
  Exhibit exhibit{.accepted = server.accepted_count(), .model = server.model(), .statistics = {}};
  exhibit.statistics = server.statistics();
  const std::lock_guard lock(mutex_);
  exhibit_ = std::move(exhibit);
  changed_.notify_all();
}

void Steward::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  changed_.notify_all();
}

void Steward::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [&] { return exhibit_ || failure_ || is_complete_; });
}

std::optional<Exhibit> Steward::take_exhibit() {
  const std::lock_guard lock(mutex_);
  return std::exchange(exhibit_, std::nullopt);
}

bool Steward::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_complete_ || failure_.has_value();
}

bool Steward::is_stepping() const {
  const std::lock_guard lock(mutex_);
  return is_stepping_;
}

Figures Steward::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

Status Steward::status() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

}  // namespace ballast::service
