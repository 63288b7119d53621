#pragma once
// Private to sim/: shows an attack what the server would do with an update, on a second method that
// was made from the same settings and is the adversary's own. It takes a copy of the state that the
// server's method is in; every trial begins from that copy.

#include <cstdint>
#include <span>
#include <vector>

#include "ballast/attacks/server_preview.h"
#include "ballast/server/parameter_server.h"

namespace ballast::sim {

class MethodPreview final : public attacks::ServerPreview {
 public:
  // The method is borrowed. Requires: a method of the same settings as the server's.
  explicit MethodPreview(server::Method& method) : method_(method) {}

  // From now on updates are tried on this server as it is, sent by this worker under this ticket.
  // Requires: the server does not change until the last trial.
  void look_at(const server::ParameterServer& server, std::uint32_t worker,
               const wire::Ticket& ticket);

  std::span<const float> direction_after(std::span<const float> update) override;

 private:
  server::Method& method_;
  const server::ParameterServer* server_ = nullptr;
  std::uint32_t worker_ = 0;
  wire::Ticket ticket_ = {};
  std::vector<std::uint64_t> lifetime_counts_;
  std::vector<float> direction_;
};

}  // namespace ballast::sim
