#pragma once
// Private to simulate/: a second server that was made from a checkpoint and gets what the first one
// accepts: it must stay the same to the last bit.

#include <optional>
#include <string>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/simulate/components.h"
#include "ballast/simulate/disk.h"
#include "ballast/transport/exchange.h"

namespace ballast::simulate {

class Twin {
 public:
  // From the newest checkpoint on a copy of the disk. An error if that cannot be restored.
  static Result<Twin> make(const Disk& disk, const Scenario& seen,
                           const ServerComponents& components);

  // What happened to the first server.
  void on_accepted(const transport::JudgedUpdate& update);
  void on_removal(std::uint32_t worker) { server_.on_leave(worker); }

  // In words; none: there is no difference.
  std::optional<std::string> difference(const server::ParameterServer& first) const;

  const server::ParameterServer& server() const noexcept { return server_; }

 private:
  explicit Twin(server::ParameterServer server) : server_(std::move(server)) {}
  server::ParameterServer server_;
};

}  // namespace ballast::simulate
