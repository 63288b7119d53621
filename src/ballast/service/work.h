#pragma once
// A worker on the network: models in, updates out, until somebody asks it to stop.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "ballast/attacks/attack.h"
#include "ballast/base/error.h"
#include "ballast/service/event.h"
#include "ballast/service/plan.h"
#include "ballast/transport/client.h"

namespace ballast::service {

struct WorkOptions {
  std::string server;                                       // HOST:PORT
  std::optional<transport::TlsFiles> credentials = {};      // none: a server on this machine
  std::string name;                                         // as enrolled
  std::uint32_t number = 0;                                 // its place among the run's workers
  std::string attack = {};                                  // empty: honest
  std::optional<std::uint64_t> updates_max = std::nullopt;  // then it leaves
  wire::Encoding encoding = wire::Encoding::kFloat32;       // of models and updates on their way
  bool rejoins = false;  // forgets everything and joins anew before each update: a flooder
  std::chrono::milliseconds pause{0};           // before each update: a slow machine
  std::chrono::milliseconds patience{300'000};  // with a server that is away
  // How often the event `round-trips` tells how long the answers take; 0: never.
  std::chrono::milliseconds report_every{0};
  WallClock clock = {};  // required with credentials
  EventSink events = [](const Event&) {};
  const std::atomic<bool>* stop = nullptr;  // true: leave. Borrowed.
};

struct WorkReport {
  std::uint64_t sent = 0;
  std::uint64_t accepted = 0;
  std::uint64_t lost = 0;  // the connection broke before a verdict came
  std::uint64_t reconnects = 0;
  bool is_over = false;  // the server said that the training has ended
};

// The attack of a worker on a network, none for an empty name. Refuses unknown ones, and those that
// need the honest workers' updates, which nobody sees there.
Result<attacks::AttackPointer> make_network_attack(const assembly::RunSpec& run,
                                                   const std::string& attack);

// The number at the end of a name such as worker-3; an error if there is none.
Result<std::uint32_t> number_in(const std::string& name);

// Works until it is asked to stop or has sent enough, then says good-bye, so that its row leaves
// the server's table. A connection that breaks is made again, and the worker's state kept; so it is
// when the certificate files were replaced, also after the server has refused the old ones. An
// error if the server refuses it for good, if it is out of patience, or if the attack needs the
// honest workers' updates, which nobody has on a network.
//
// Determinism: what it sends is a function of the plan, its number and the models it is given.
Result<WorkReport> work(const Plan& plan, const WorkOptions& options);

}  // namespace ballast::service
