#include "ballast/server/coordinator.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/wire/limits.h"

namespace ballast::server {
namespace {

Status check_names(std::span<const std::string> names, std::size_t worker_count) {
  if (names.size() != worker_count) {
    return invalid_argument(
        fmt::format("{} workers are enrolled, but the server is built for {}; name each of them",
                    names.size(), worker_count));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i].size() > wire::kNameLengthMax) {
      return invalid_argument(fmt::format("the name of worker {} has {} characters; 1 to {} do", i,
                                          names[i].size(), wire::kNameLengthMax));
    }
    if (std::ranges::count(names, names[i]) > 1) {
      return invalid_argument(fmt::format("the worker {} is enrolled twice", names[i]));
    }
  }
  return {};
}

Status check_lead(const LeadLimit& lead) {
  if (lead.kappa >= 1.0 && lead.slack >= 1.0) return {};
  return invalid_argument(
      fmt::format("the lead limit is {} * count + {}; both must be at least 1, "
                  "or workers at the same pace would hold each other",
                  lead.kappa, lead.slack));
}

const CappedWeights* capped(const ParameterServer& server) {
  return std::get_if<CappedWeights>(&server.options().weights);
}

}  // namespace

Result<Coordinator> Coordinator::make(CoordinatorOptions options, ParameterServer server) {
  BALLAST_TRY_STATUS(check_names(options.names, server.options().worker_count));
  BALLAST_TRY_STATUS(check_lead(options.lead));
  return Coordinator(std::move(options), std::move(server));
}

Coordinator::Coordinator(CoordinatorOptions options, ParameterServer server)
    : options_(std::move(options)), server_(std::move(server)), members_(options_.names.size()) {
  if (const CappedWeights* policy = capped(server_)) f_ = policy->f;
  // A restored server has used sequence numbers already.
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].issued = server_.workers()[i].sequence;
  }
}

std::optional<std::uint32_t> Coordinator::find(std::string_view name) const {
  const auto found = std::ranges::find(options_.names, name);
  if (found == options_.names.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - options_.names.begin());
}

std::optional<Assignment> Coordinator::on_join(std::uint32_t worker, Memory memory, Instant now) {
  if (memory == Memory::kFresh && server_.worker(worker).count > 0) server_.remove(worker);
  return issue_newest(worker, now);
}

Judgement Coordinator::on_update(const wire::Ticket& ticket, Update update, Instant now) {
  const std::uint32_t worker = update.worker;
  const Verdict verdict = judge(worker, ticket);
  members_[worker].ticket.reset();
  if (verdict != Verdict::kAccepted) {
    server_.refuse(worker, verdict);
    return {.outcome = {.verdict = verdict}, .next = issue_newest(worker, now)};
  }
  update.sequence = ticket.sequence;
  update.version = ticket.version;
  Outcome outcome = server_.on_update(update, now);
  if (outcome.verdict != Verdict::kAccepted) {
    return {.outcome = std::move(outcome), .next = issue_newest(worker, now)};
  }
  note_share();
  auto next = issue(worker, outcome.reply, now);
  return {.outcome = std::move(outcome), .next = std::move(next)};
}

Verdict Coordinator::judge(std::uint32_t worker, const wire::Ticket& ticket) const {
  if (members_[worker].ticket == ticket) return Verdict::kAccepted;
  const bool is_own = ticket.worker == worker && ticket.incarnation == options_.incarnation;
  const bool is_used = ticket.sequence <= server_.worker(worker).sequence;
  return is_own && is_used ? Verdict::kReplayed : Verdict::kUnasked;
}

void Coordinator::on_disconnect(std::uint32_t worker, Instant now) {
  Member& member = members_[worker];
  member.ticket.reset();
  member.is_held = false;
  member.silent_since = now;
}

void Coordinator::on_leave(std::uint32_t worker) {
  members_[worker].ticket.reset();
  members_[worker].is_held = false;
  server_.remove(worker);
}

// Counts of a lifetime decide, because whoever joins anew loses its row's count: a worker that
// comes back before each update would otherwise pass the barrier and the limit as often as it
// likes.
bool Coordinator::may_issue(std::uint32_t worker) const {
  const WorkerRecord& own = server_.worker(worker);
  const bool is_paused = server_.row_count() < quorum(server_.options().weights);
  if (is_paused && own.count > 0) return false;
  if (f_ == 0) return true;
  std::vector<std::uint64_t> counts;
  for (const WorkerRecord& record : server_.workers()) counts.push_back(record.lifetime_count());
  const auto pace = counts.begin() + static_cast<std::ptrdiff_t>(std::min(f_, counts.size() - 1));
  std::ranges::nth_element(counts, pace, std::greater<>());
  const double limit = options_.lead.kappa * static_cast<double>(*pace) + options_.lead.slack;
  return static_cast<double>(own.lifetime_count()) + 1.0 <= limit;
}

std::optional<Assignment> Coordinator::issue_newest(std::uint32_t worker, Instant now) {
  members_[worker].ticket.reset();
  members_[worker].is_held = !may_issue(worker);
  if (members_[worker].is_held) return std::nullopt;
  const Result<Snapshot> model = server_.on_join(worker);
  BALLAST_CHECK(model.has_value(), "an enrolled worker exists");
  return issue(worker, *model, now);
}

// The server remembers which version it gave; whoever is held gets a newer one when released.
std::optional<Assignment> Coordinator::issue(std::uint32_t worker, const Snapshot& model,
                                             Instant now) {
  Member& member = members_[worker];
  member.is_held = !may_issue(worker);
  if (member.is_held) return std::nullopt;
  member.silent_since = now;
  member.ticket = wire::Ticket{.incarnation = options_.incarnation,
                               .worker = worker,
                               .version = model.version,
                               .sequence = ++member.issued};
  const WorkerRecord& record = server_.worker(worker);
  return Assignment{.ticket = *member.ticket,
                    .model = model,
                    .count = record.count,
                    .accepted_sequence = record.sequence};
}

std::vector<Assignment> Coordinator::release(Instant now) {
  std::vector<Assignment> released;
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
    if (!members_[worker].is_held) continue;
    if (auto assignment = issue_newest(worker, now)) released.push_back(*std::move(assignment));
  }
  return released;
}

std::vector<std::uint32_t> Coordinator::evict_silent(Instant now) {
  std::vector<std::uint32_t> evicted;
  if (options_.silence_max == Instant::zero()) return evicted;
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
    Member& member = members_[worker];
    const bool owes_us = member.ticket.has_value() || server_.worker(worker).count > 0;
    if (member.is_held || !owes_us || now - member.silent_since <= options_.silence_max) continue;
    member.ticket.reset();
    server_.remove(worker);
    evicted.push_back(worker);
    ++eviction_count_;
  }
  return evicted;
}

std::optional<std::string> Coordinator::pause_reason() const {
  const std::size_t needed = quorum(server_.options().weights);
  if (server_.row_count() >= needed) return std::nullopt;
  return fmt::format("{} of {} workers have sent an update; {} are needed before the model moves",
                     server_.row_count(), members_.size(), needed);
}

void Coordinator::note_share() {
  heaviest_share_ = share_of_heaviest(std::max<std::size_t>(f_, 1), server_.weights());
  heaviest_share_max_ = std::max(heaviest_share_max_, heaviest_share_);
  if (const CappedWeights* policy = capped(server_)) {
    BALLAST_CHECK(heaviest_share_ <= policy->share + 1e-12, "the f heaviest exceed their share");
  }
}

}  // namespace ballast::server
