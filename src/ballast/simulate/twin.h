#pragma once
// Private to simulate/: a second server that was made from a checkpoint and gets what the first one
// gives its method: it must stay the same to the last bit.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/simulate/components.h"
#include "ballast/simulate/disk.h"
#include "ballast/transport/exchange.h"
#include "ballast/wire/ticket.h"

namespace ballast::simulate {

class Twin {
 public:
  // From the newest checkpoint on a copy of the disk. An error if that cannot be restored.
  static Result<Twin> make(const Disk& disk, const Scenario& seen,
                           const ServerComponents& components);

  // Takes over which models the workers of the first server are computing on.
  void take_tickets(const server::ParameterServer& first);

  // What happened to the first server. For an update that reached the method: how the two differ
  // then, in words; none: they do not.
  std::optional<std::string> on_judged(const server::ParameterServer& first,
                                       const transport::JudgedUpdate& update);
  void on_member(std::uint32_t worker, transport::MemberEvent event);
  void on_issued(const wire::Ticket& ticket);
  void on_enrol(std::string name);

  const server::ParameterServer& server() const noexcept { return server_; }

 private:
  explicit Twin(server::ParameterServer server);
  std::optional<std::string> difference(const server::ParameterServer& first) const;
  void join(std::uint32_t worker, server::Memory memory);

  server::ParameterServer server_;
  std::vector<wire::Ticket> tickets_;  // the last one of each worker
};

}  // namespace ballast::simulate
