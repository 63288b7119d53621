#include "ballast/simulate/twin.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/simulate/server_life.h"
#include "ballast/store/store.h"

namespace ballast::simulate {

Result<Twin> Twin::make(const Disk& disk, const Scenario& seen,
                        const ServerComponents& components) {
  const std::unique_ptr<Disk> copy = disk.copy();
  Scenario scenario = seen;
  if (components.server_scenario) components.server_scenario(scenario);
  // Nobody waits and nobody is refused: the first server has decided that.
  BALLAST_TRY(auto server, make_simulated_server(scenario, components, {}));
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

void Twin::on_accepted(const transport::JudgedUpdate& update) {
  const auto assignment = server_.on_join(update.worker, server::Memory::kKept);
  BALLAST_CHECK(assignment.has_value(), "nobody waits at the twin");
  (void)server_.on_update({.worker = update.worker,
                           .ticket = assignment->ticket,
                           .values = update.values,
                           .statistics = update.statistics});
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
