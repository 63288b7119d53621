#pragma once
// Private to service/: the three questions an orchestrator asks a server. They differ, because the
// answers call for different things: a process that hangs is started again, one that takes no
// workers gets no traffic, and a model that does not move is for a person to look at.

#include <optional>
#include <string_view>

#include "ballast/service/http.h"

namespace ballast::service {

struct Health {
  bool is_acknowledging = false;  // takes updates; false while it ends or waits for the disk
  bool is_stepping = false;       // the model moves: enough workers have sent
  bool is_over = false;           // the training has ended, or the server is ending
};

// /livez: the process answers. /readyz: workers may come; true before the first one does. /healthz:
// the model moves. None for another path.
std::optional<HttpAnswer> probe(std::string_view path, const Health& health);

}  // namespace ballast::service
