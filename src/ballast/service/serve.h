#pragma once
// A parameter server on the network, from a plan to the last checkpoint.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/service/credentials.h"
#include "ballast/service/event.h"
#include "ballast/service/figures.h"
#include "ballast/service/plan.h"
#include "ballast/store/checkpoint_policy.h"

namespace ballast::service {

// Where a running server can be reached.
struct Ports {
  std::uint16_t server = 0;
  std::uint16_t http = 0;  // 0: none
};

struct ServeOptions {
  std::string listen = "127.0.0.1:0";
  std::optional<ServerCredentials> credentials = {};  // none: loopback only, without encryption
  std::vector<std::string> names = {};  // of the workers, one for each; empty: default_names()
  std::filesystem::path state = {};     // folder of the durable state; empty: nothing is kept
  bool is_resume = false;               // go on from what `state` holds
  store::CheckpointPolicy::Options checkpoints = {};
  std::string http = {};          // HOST:PORT of /status, /metrics and /healthz; empty: none
  server::Instant silence_max{};  // then a worker that owes an update loses its row; 0: never
  WallClock clock = {};
  EventSink events = [](const Event&) {};
  std::function<Status(Ports)> on_listening = [](Ports) { return Status{}; };
  const std::atomic<bool>* stop = nullptr;  // true ends the run early. Borrowed.
};

struct ServeReport {
  Figures figures;           // at the end, with the last evaluation
  bool is_complete = false;  // all the updates of the plan were accepted
};

// Serves until the plan's updates are accepted or somebody asks to stop; then saves, evaluates and
// returns. An update is acknowledged only once the journal has it, and none after the last
// checkpoint, so that what was acknowledged is what a resumed run goes on from. An error if it
// cannot begin, if the journal fails, or if the last checkpoint does.
Result<ServeReport> serve(const Plan& plan, const ServeOptions& options);

}  // namespace ballast::service
