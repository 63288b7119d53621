#include "ballast/simulate/twin.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/server/state.h"
#include "ballast/simulate/server_life.h"
#include "ballast/store/store.h"

namespace ballast::simulate {

Twin::Twin(server::ParameterServer server)
    : server_(std::move(server)), tickets_(server_.worker_count()) {}

Result<Twin> Twin::make(const Disk& disk, const Scenario& seen,
                        const ServerComponents& components) {
  const std::unique_ptr<Disk> copy = disk.copy();
  Scenario scenario = seen;
  if (components.server_scenario) components.server_scenario(scenario);
  // Nobody waits and nobody is refused: the first server has decided that.
  BALLAST_TRY(auto server, make_simulated_server(scenario, components,
                                                 {.names = worker_names(scenario.workers),
                                                  .free_places = scenario.free_places}));
  BALLAST_TRY(store::Resumed resumed,
              store::Store::resume(kStateFolder,
                                   {.config = kConfiguration,
                                    .worker_count = scenario.workers + scenario.free_places,
                                    .dim = scenario.dim,
                                    .statistic_count = scenario.statistic_count},
                                   *copy));
  BALLAST_TRY_STATUS(server.restore(std::move(resumed.state)));
  return Twin(std::move(server));
}

// A restored server knows no tickets, and methods ask how old the model of an update is.
void Twin::take_tickets(const server::ParameterServer& first) {
  const std::vector<server::SenderRecord> senders = first.state().senders;
  server_.begin_incarnation(first.admission().incarnation);
  server::ServerState state = server::copy(server_.state());
  for (std::size_t i = 0; i < senders.size(); ++i) {
    state.senders[i].ticket = senders[i].ticket;
    if (senders[i].ticket) tickets_[i] = *senders[i].ticket;
  }
  const Status is_restored = server_.restore(std::move(state));
  BALLAST_CHECK(is_restored.has_value(), "its own state, with tickets of the same life");
}

std::optional<std::string> Twin::on_judged(const server::ParameterServer& first,
                                           const transport::JudgedUpdate& update) {
  using enum server::Verdict;
  const server::Verdict verdict = update.outcome.verdict;
  if (verdict != kAccepted && verdict != kFiltered) return std::nullopt;
  const server::Judgement judged = server_.on_update({.worker = update.worker,
                                                      .ticket = tickets_[update.worker],
                                                      .values = update.values,
                                                      .statistics = update.statistics});
  if (judged.next) tickets_[update.worker] = judged.next->ticket;
  if (judged.outcome.verdict != verdict) {
    return fmt::format("an update that was {} is {}", server::name(verdict),
                       server::name(judged.outcome.verdict));
  }
  return difference(first);
}

void Twin::on_member(std::uint32_t worker, transport::MemberEvent event) {
  using enum transport::MemberEvent;
  if (event == kLeft || event == kEvicted || event == kRevoked) server_.on_leave(worker);
  if (event == kStartedAnew) join(worker, server::Memory::kFresh);
}

// Both are at the same version when it is issued; the twin has nobody wait, and so may have issued
// one of an earlier version.
void Twin::on_issued(const wire::Ticket& ticket) {
  if (tickets_[ticket.worker].version != ticket.version ||
      !server_.worker(ticket.worker).given.has_value()) {
    join(ticket.worker, server::Memory::kKept);
  }
}

void Twin::on_enrol(std::string name) {
  const auto number = server_.enrol(std::move(name));
  BALLAST_CHECK(number.has_value(), "the first server had a place");
}

void Twin::join(std::uint32_t worker, server::Memory memory) {
  const auto assignment = server_.on_join(worker, memory);
  BALLAST_CHECK(assignment.has_value(), "nobody waits at the twin");
  tickets_[worker] = assignment->ticket;
}

std::optional<std::string> Twin::difference(const server::ParameterServer& first) const {
  const auto &left = *first.model().values, &right = *server_.model().values;
  if (first.model().version != server_.model().version) {
    return fmt::format("version {} became {}", first.model().version, server_.model().version);
  }
  if (std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0) return std::nullopt;
  return fmt::format("the model of version {} has other values", first.model().version);
}

}  // namespace ballast::simulate
