#include "ballast/server/admission.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "ballast/kernels/finite.h"
#include "ballast/wire/limits.h"

namespace ballast::server {
namespace {

constexpr std::uint64_t kCountEnd = std::uint64_t{1} << 40;

Status check_names(std::span<const std::string> names, std::size_t free_places,
                   std::size_t worker_count) {
  if (names.empty() && free_places == 0) return {};
  if (names.size() + free_places != worker_count) {
    return invalid_argument(
        fmt::format("{} workers are enrolled, but the server is built for {}; name each of them",
                    names.size() + free_places, worker_count));
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
  if (lead.f == 0 || (lead.kappa >= 1.0 && lead.slack >= 1.0)) return {};
  return invalid_argument(
      fmt::format("the lead limit is {} * count + {}; both must be at least 1, "
                  "or workers at the same pace would hold each other",
                  lead.kappa, lead.slack));
}

// Whether the numbers can belong to one sender of a server that took so many steps.
bool is_consistent(const SenderRecord& sender, std::uint64_t steps) {
  const std::uint64_t lifetime = sender.lifetime_count();
  return lifetime < kCountEnd && lifetime <= sender.sequence && sender.staleness <= steps &&
         (!sender.ticket || sender.ticket->version <= steps);
}

}  // namespace

Result<Admission> Admission::make(AdmissionOptions options, std::size_t worker_count,
                                  const UpdateShape& shape) {
  if (worker_count == 0) return invalid_argument("a server needs at least one worker");
  BALLAST_TRY_STATUS(check_names(options.names, options.free_places, worker_count));
  BALLAST_TRY_STATUS(check_lead(options.lead));
  return Admission(std::move(options), worker_count, shape);
}

Admission::Admission(AdmissionOptions options, std::size_t worker_count, const UpdateShape& shape)
    : options_(std::move(options)),
      shape_(shape),
      senders_(worker_count),
      members_(worker_count),
      counts_(worker_count) {}

std::optional<std::uint32_t> Admission::find(std::string_view name) const {
  const auto found = std::ranges::find(options_.names, name);
  if (found == options_.names.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - options_.names.begin());
}

Status Admission::may_enrol(const std::string& name) const {
  if (options_.free_places == 0) {
    return invalid_argument(fmt::format("all {} places are taken", senders_.size()));
  }
  std::vector<std::string> names = options_.names;
  names.push_back(name);
  return check_names(names, options_.free_places - 1, senders_.size());
}

Result<std::uint32_t> Admission::enrol(std::string name) {
  BALLAST_TRY_STATUS(may_enrol(name));
  options_.names.push_back(std::move(name));
  --options_.free_places;
  return static_cast<std::uint32_t>(options_.names.size() - 1);
}

Verdict Admission::judge(const Update& update, std::uint64_t newest_version) const {
  if (update.worker >= senders_.size()) return Verdict::kUnknownWorker;
  const SenderRecord& sender = senders_[update.worker];
  if (sender.ticket != update.ticket) {
    const bool is_own =
        update.ticket.worker == update.worker && update.ticket.incarnation == options_.incarnation;
    const bool is_used = update.ticket.sequence <= sender.sequence;
    return is_own && is_used ? Verdict::kReplayed : Verdict::kUnasked;
  }
  if (update.values.size() != shape_.dim || update.statistics.size() != shape_.statistic_count) {
    return Verdict::kWrongShape;
  }
  const std::uint64_t staleness = newest_version - update.ticket.version;
  if (options_.staleness_max && staleness > *options_.staleness_max) return Verdict::kStale;
  if (!kernels::all_finite(update.statistics) ||
      (!update.is_checked && !kernels::all_finite(update.values))) {
    return Verdict::kNotFinite;
  }
  return Verdict::kAccepted;
}

void Admission::note(std::uint32_t worker, Verdict verdict) {
  ++senders_[worker].verdicts[static_cast<std::size_t>(verdict)];
  if (verdict == Verdict::kAccepted) lead_limit_.reset();
}

void Admission::note_accepted(const Update& update, std::uint64_t staleness, Instant now) {
  SenderRecord& sender = senders_[update.worker];
  sender.sequence = update.ticket.sequence;
  sender.staleness = staleness;
  sender.last_seen = now;
  sender.ticket.reset();
}

// Counts of a lifetime decide, because whoever joins anew loses its row: a worker that comes back
// before each update would otherwise pass the barrier and the limit as often as it likes.
bool Admission::may_send(std::uint32_t worker, bool is_of_use) const {
  if (options_.waits_for_use && !is_of_use) return false;
  if (options_.lead.f == 0) return true;
  return static_cast<double>(senders_[worker].lifetime_count()) + 1.0 <= lead_limit();
}

double Admission::lead_limit() const {
  if (lead_limit_) return *lead_limit_;
  std::ranges::transform(senders_, counts_.begin(), &SenderRecord::lifetime_count);
  const std::size_t place = std::min(options_.lead.f, counts_.size() - 1);
  const auto pace = counts_.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(counts_, pace, std::greater<>());
  lead_limit_ = options_.lead.kappa * static_cast<double>(*pace) + options_.lead.slack;
  return *lead_limit_;
}

std::optional<wire::Ticket> Admission::issue(std::uint32_t worker, std::uint64_t version,
                                             bool is_of_use, Instant now) {
  SenderRecord& sender = senders_[worker];
  Member& member = members_[worker];
  sender.ticket.reset();
  member.is_held = !may_send(worker, is_of_use);
  if (member.is_held) return std::nullopt;
  member.silent_since = now;
  sender.ticket = wire::Ticket{.incarnation = options_.incarnation,
                               .worker = worker,
                               .version = version,
                               .sequence = ++sender.issued};
  return sender.ticket;
}

void Admission::withdraw(std::uint32_t worker, Instant now) {
  senders_[worker].ticket.reset();
  members_[worker] = {.is_held = false, .silent_since = now};
}

bool Admission::is_silent(std::uint32_t worker, bool has_sent, Instant now) const {
  if (options_.silence_max == Instant::zero()) return false;
  const bool owes_us = senders_[worker].ticket.has_value() || has_sent;
  return owes_us && !members_[worker].is_held &&
         now - members_[worker].silent_since > options_.silence_max;
}

void Admission::begin_incarnation(std::uint64_t number) {
  options_.incarnation = number;
  for (SenderRecord& sender : senders_) {
    if (sender.ticket && sender.ticket->incarnation != number) sender.ticket.reset();
  }
}

Status Admission::restore(std::span<const SenderRecord> senders, std::uint64_t newest_version) {
  if (senders.size() > senders_.size()) {
    return invalid_argument(fmt::format("the state is one of {} workers; this server has {}",
                                        senders.size(), senders_.size()));
  }
  for (std::size_t i = 0; i < senders.size(); ++i) {
    if (is_consistent(senders[i], newest_version)) continue;
    return invalid_argument(fmt::format("the record of worker {} contradicts itself", i));
  }
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    SenderRecord& sender = senders_[i];
    sender = i < senders.size() ? senders[i] : SenderRecord{};
    // A checkpoint's journal may know of later tickets than the checkpoint itself.
    sender.issued = std::max(sender.issued, sender.sequence);
    if (sender.ticket && sender.ticket->incarnation != options_.incarnation) sender.ticket.reset();
    members_[i] = {};
  }
  lead_limit_.reset();
  return {};
}

}  // namespace ballast::server
