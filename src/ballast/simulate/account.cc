#include "ballast/simulate/account.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "ballast/simulate/same_state.h"

namespace ballast::simulate {
namespace {

constexpr int kTicksPerStride = 4;
constexpr double kShareTolerance = 1e-12;
constexpr std::size_t kModelsMax = 6;  // that every server needs, whatever workers do

bool is_removal(transport::MemberEvent event) {
  using enum transport::MemberEvent;
  return event == kLeft || event == kEvicted || event == kRevoked || event == kStartedAnew;
}

bool is_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

Account::Account(const Scenario& scenario, const ServerComponents& components)
    : scenario_(scenario), components_(components) {
  grow();
}

void Account::fail(std::string checker, std::string message) {
  if (!violation_) violation_ = {std::move(checker), std::move(message)};
}

void Account::grow() {
  const std::size_t workers = scenario_.workers + scenario_.free_places;
  own_.lifetime.resize(workers);
  own_.row.resize(workers);
  acknowledged_sequence_.resize(workers);
  ticket_.resize(workers);
  heard_.resize(workers);
}

void Account::begin_life(const server::ParameterServer& server, std::uint64_t incarnation,
                         const std::optional<service::ResumeFacts>& facts, bool was_damaged,
                         Instant now) {
  if (incarnation <= incarnation_) {
    fail("tickets", fmt::format("life {} follows life {}", incarnation, incarnation_));
  }
  incarnation_ = incarnation;
  std::ranges::fill(ticket_, std::nullopt);
  if (facts) {
    check_resume(server, *facts, was_damaged);
  } else {
    own_ = {};
    acknowledged_ = 0;
    saved_.clear();
  }
  grow();
  last_turn_ = now;
  for (std::uint32_t i = 0; i < scenario_.workers; ++i) hear(i, now);
  paused_statistics_.reset();
  models_.clear();
  if (!facts) on_checkpoint(server, true);
}

void Account::check_resume(const server::ParameterServer& server, const service::ResumeFacts& facts,
                           bool was_damaged) {
  // The first start died after its first checkpoint.
  if (saved_.empty() && facts.accepted == 0) on_checkpoint(server, true);
  std::string why = "no checkpoint of that many updates was tried";
  auto found = saved_.end();
  for (auto saved = saved_.end(); saved != saved_.begin() && found == saved_.end();) {
    if ((--saved)->counts.accepted != facts.accepted) continue;
    const auto difference = difference_after_resume(saved->state.view(), server.state());
    if (!difference) found = saved;
    if (difference) why = *difference;
  }
  if (found == saved_.end()) {
    fail("restore", fmt::format("resumed at {} updates, but {}", facts.accepted, why));
    return;
  }
  check_loss(facts, was_damaged);
  for (std::uint32_t i = 0; i < acknowledged_sequence_.size(); ++i) {
    if (server.worker(i).sequence >= acknowledged_sequence_[i]) continue;
    fail("tickets", fmt::format("after the resume ticket {} of worker {} could count again",
                                acknowledged_sequence_[i], i));
  }
  own_ = found->counts;
  acknowledged_ = own_.accepted;
  // What came after it is gone for good.
  found->is_confirmed = true;
  saved_.erase(std::next(found), saved_.end());
}

void Account::check_loss(const service::ResumeFacts& facts, bool was_damaged) {
  if (!was_damaged && acknowledged_ > facts.accepted + scenario_.unsaved_max) {
    fail("loss", fmt::format("{} updates were acknowledged, {} are left; at most {} may be lost",
                             acknowledged_, facts.accepted, scenario_.unsaved_max));
  }
  // Of a damaged checkpoint's predecessor nothing is missing.
  std::size_t confirmed = was_damaged ? 2 : 1;
  const auto complete = std::find_if(saved_.rbegin(), saved_.rend(), [&](const Saved& saved) {
    return saved.is_confirmed && --confirmed == 0;
  });
  if (complete != saved_.rend() && facts.accepted < complete->counts.accepted) {
    fail("loss", fmt::format("a checkpoint of {} updates was complete, the resume found {}",
                             complete->counts.accepted, facts.accepted));
  }
  if (acknowledged_ > facts.accepted + facts.lost) {
    fail("loss", fmt::format("{} updates were acknowledged; the resume tells of {} and {} lost",
                             acknowledged_, facts.accepted, facts.lost));
  }
}

Instant Account::listened(Instant now) const {
  return listened_ + std::min(now - last_turn_, kTicksPerStride * scenario_.tick);
}

void Account::begin_turn(Instant now) {
  listened_ = listened(now);
  last_turn_ = now;
}

void Account::on_judged(const server::ParameterServer& server,
                        const transport::JudgedUpdate& update) {
  if (update.outcome.verdict != server::Verdict::kAccepted) return;
  check_accepted(update);
  ++own_.lifetime[update.worker];
  ++own_.row[update.worker];
  ++own_.accepted;
  ticket_[update.worker].reset();
  last_sequence_ = update.ticket.sequence;
  if (update.outcome.has_stepped) {
    ++own_.steps;
    if (row_count() < quorum()) {
      fail("quorum", fmt::format("a step with {} rows; {} are needed", row_count(), quorum()));
    }
  }
  if (!server.pause_reason()) paused_statistics_.reset();
  check_lead();
  check_counts(server);
}

void Account::check_accepted(const transport::JudgedUpdate& update) {
  const wire::Ticket& ticket = update.ticket;
  const auto told = fmt::format("ticket {} of life {}, worker {}, was accepted of worker {}",
                                ticket.sequence, ticket.incarnation, ticket.worker, update.worker);
  if (ticket_[update.worker] != ticket) fail("tickets", told + ", which does not hold it");
  if (!used_.insert({ticket.incarnation, ticket.worker, ticket.sequence}).second) {
    fail("tickets", told + " for the second time");
  }
  if (update.values.size() != scenario_.dim || !is_finite(update.values) ||
      !is_finite(update.statistics)) {
    fail("values", told + " with values that are not finite or not as many");
  }
}

// The worker stands at most so far above the (f+1)-th, whatever it does.
void Account::check_lead() {
  std::vector<std::uint64_t> sorted = own_.lifetime;
  std::ranges::sort(sorted, std::greater<>());
  const server::LeadLimit& lead = scenario_.lead;
  const auto pace = static_cast<double>(sorted[std::min(lead.f, sorted.size() - 1)]);
  if (static_cast<double>(sorted[0]) > lead.kappa * pace + lead.slack) {
    fail("lead",
         fmt::format("{} updates of one worker were accepted; the pace is {}", sorted[0], pace));
  }
}

void Account::check_counts(const server::ParameterServer& server) {
  if (server.accepted_count() != own_.accepted || server.model().version != own_.steps) {
    fail("counts",
         fmt::format("{} accepted, {} steps, but {} and {} were told", server.accepted_count(),
                     server.model().version, own_.accepted, own_.steps));
  }
  for (std::uint32_t i = 0; i < scenario_.workers; ++i) {
    const server::WorkerRecord worker = server.worker(i);
    if (worker.count == own_.row[i] && worker.lifetime_count == own_.lifetime[i]) continue;
    fail("counts", fmt::format("worker {} has a row of {} and {} in all; {} and {} were told", i,
                               worker.count, worker.lifetime_count, own_.row[i], own_.lifetime[i]));
  }
  if (!is_finite(*server.model().values)) fail("values", "the model is not finite");
}

void Account::on_member(std::uint32_t worker, transport::MemberEvent event, Instant now) {
  if (event == transport::MemberEvent::kEvicted &&
      listened(now) - heard_[worker] <= scenario_.silence_max) {
    fail("silence",
         fmt::format("worker {} was evicted after {:.1f} s in which the server listened", worker,
                     std::chrono::duration<double>(listened(now) - heard_[worker]).count()));
  }
  if (is_removal(event)) own_.row[worker] = 0;
  if (event != transport::MemberEvent::kHeld) hear(worker, now);
  if (event == transport::MemberEvent::kGone || is_removal(event)) ticket_[worker].reset();
}

// To come back later is the one thing that nothing else tells.
void Account::on_close(std::uint32_t worker, transport::Close why, Instant now) {
  if (why == transport::Close::kComeBack) hear(worker, now);
}

void Account::on_delivery(std::uint32_t worker, const transport::Delivery& delivery, Instant now) {
  if (delivery.verdict == server::Verdict::kAccepted) {
    acknowledged_ = own_.accepted;
    acknowledged_sequence_[worker] = std::max(acknowledged_sequence_[worker], last_sequence_);
  }
  if (!delivery.next) return;
  hear(worker, now);
  const wire::Ticket& ticket = delivery.next->ticket;
  if (ticket.incarnation != incarnation_ || ticket.worker != worker ||
      !issued_.insert({ticket.incarnation, worker, ticket.sequence}).second) {
    fail("tickets", fmt::format("ticket {} of life {} was issued to worker {} again, or wrongly",
                                ticket.sequence, ticket.incarnation, worker));
  }
  ticket_[worker] = ticket;
}

void Account::on_checkpoint(const server::ParameterServer& server, bool is_confirmed) {
  saved_.push_back({server::copy(server.state()), own_, is_confirmed});
  // All that a resume can find: back to the confirmed one before the last.
  std::size_t confirmed = 0;
  for (std::size_t i = saved_.size(); i-- > 0;) {
    confirmed += saved_[i].is_confirmed ? 1 : 0;
    if (confirmed < 2) continue;
    saved_.erase(saved_.begin(), saved_.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
}

std::size_t Account::row_count() const {
  return own_.row.size() - static_cast<std::size_t>(std::ranges::count(own_.row, 0u));
}

std::size_t Account::quorum() const {
  std::size_t needed = 1;
  if (!scenario_.has_table()) return needed;
  for (const server::CappedWeights& cap : server::caps_of(scenario_.policy)) {
    while (static_cast<double>(cap.f) > cap.share * static_cast<double>(needed)) ++needed;
  }
  return needed;
}

void Account::check(const server::ParameterServer& server, Instant now) {
  check_counts(server);
  if (violation_) return;  // what contradicts itself is not asked for more
  check_caps(server);
  check_statistics(server);
  check_silence(server, now);
  check_memory(server);
}

void Account::check_caps(const server::ParameterServer& server) {
  std::vector<std::uint64_t> weights(scenario_.workers);
  for (std::uint32_t i = 0; i < weights.size(); ++i) weights[i] = server.worker(i).weight;
  std::ranges::sort(weights, std::greater<>());
  const auto all = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  if (all == 0) return;
  for (const server::CappedWeights& cap : server::caps_of(scenario_.policy)) {
    const auto heaviest = std::accumulate(
        weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(cap.f), std::uint64_t{0});
    const double share = static_cast<double>(heaviest) / static_cast<double>(all);
    if (share <= cap.share + kShareTolerance) continue;
    fail("caps", fmt::format("the {} heaviest hold {:.4f} of the weight; the cap is {}", cap.f,
                             share, cap.share));
  }
}

// A model that has moved has statistics, and those of a pause stay what they are.
void Account::check_statistics(const server::ParameterServer& server) {
  if (scenario_.statistic_count == 0 || server.model().version == 0) return;
  const auto statistics = components_.statistics(server);
  if (!statistics) {
    fail("statistics", fmt::format("version {} has no running statistics to be evaluated with",
                                   server.model().version));
    return;
  }
  if (!server.pause_reason()) {
    paused_statistics_.reset();
  } else if (!paused_statistics_) {
    paused_statistics_ = statistics;
  } else if (*paused_statistics_ != *statistics) {
    fail("statistics", "the running statistics change during a pause");
  }
}

void Account::check_silence(const server::ParameterServer& server, Instant now) {
  const Instant late = scenario_.silence_max + (2 + kTicksPerStride) * scenario_.tick;
  for (std::uint32_t i = 0; i < scenario_.workers; ++i) {
    if (own_.row[i] == 0 || server.is_held(i) || listened(now) - heard_[i] <= late) continue;
    fail("silence", fmt::format("worker {} has been silent for {:.1f} s and keeps its row", i,
                                std::chrono::duration<double>(listened(now) - heard_[i]).count()));
  }
}

void Account::check_memory(const server::ParameterServer& server) {
  std::erase_if(models_, [](const auto& model) { return model.expired(); });
  const auto& newest = server.model().values;
  const bool is_known =
      std::ranges::any_of(models_, [&](const auto& model) { return model.lock() == newest; });
  if (!is_known) models_.push_back(newest);
  const std::size_t needed = kModelsMax + server.method().further_vectors();
  if (models_.size() <= needed) return;
  fail("memory", fmt::format("{} models are held; {} are needed", models_.size(), needed));
}

}  // namespace ballast::simulate
