#pragma once
// The parts of the simulated server that a mutant replaces. The defaults are the deployed ones, and
// production code has no switch for any of this.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/method.h"
#include "ballast/server/parameter_server.h"
#include "ballast/service/server_hooks.h"
#include "ballast/simulate/scenario.h"
#include "ballast/store/file_system.h"
#include "ballast/transport/exchange.h"

namespace ballast::simulate {

struct ServerComponents {
  // Changes what was made; nothing: it stays.
  std::function<server::MethodPointer(server::MethodPointer, const Scenario&)> method = {};
  std::function<void(Scenario&)> server_scenario = {};  // as the server sees it, not the checkers
  std::function<void(server::AdmissionOptions&)> admission = {};
  std::function<void(transport::ExchangeOptions&)> exchange = {};
  std::function<void(service::ServerHooksOptions&)> hooks = {};
  std::function<std::unique_ptr<store::FileSystem>(store::FileSystem&)> disk = {};
  std::function<std::uint64_t(std::uint64_t)> incarnation = {};
  // What evaluations take for the running statistics.
  std::function<std::optional<std::vector<float>>(const server::ParameterServer&)> statistics =
      [](const server::ParameterServer& server) { return server.statistics(); };
  // Whether the server program would start such a run.
  IsAllowed is_allowed = nullptr;  // null: what service::check_quorum says
};

}  // namespace ballast::simulate
