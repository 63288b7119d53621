#pragma once
// A parameter server on the network, from a plan to the last checkpoint.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/service/credentials.h"
#include "ballast/service/event.h"
#include "ballast/service/plan.h"
#include "ballast/service/server_status.h"
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
  // Of the workers, one for each. Empty: those of `workers_file`; without one those of a run that
  // is resumed, and default_names() for as many more as the specification has.
  std::vector<std::string> names = {};
  // A name per line, read again when it changes: who is added takes part from then on.
  std::filesystem::path workers_file = {};
  std::size_t places = 0;            // for workers in all; 0: for the named ones, see enrolment.h
  std::filesystem::path state = {};  // folder of the durable state; empty: nothing is kept
  bool is_resume = false;            // go on from what `state` holds
  std::size_t workers_min = 0;       // with a row before a step; 0: what the weights need
  store::CheckpointPolicy::Options checkpoints = {};
  // So many acknowledged updates may be in no checkpoint; then the server acknowledges nothing
  // until one succeeds. 0: twice checkpoints.every_updates.
  std::uint64_t unsaved_max = 0;
  std::filesystem::path model_out = {};  // the model at the end, as safetensors; empty: nowhere
  std::uint64_t model_every = 0;         // and after so many accepted updates; 0: at the end only
  std::size_t threads = 1;               // that aggregate; 0: as many as it has work for
  std::string http = {};                 // HOST:PORT of /status, /metrics and the probes; or none
  std::vector<std::string> http_hosts = {};  // names besides addresses under which it is asked
  server::Instant silence_max{};  // then a worker that owes an update loses its row; 0: never
  // How long a server whose training is complete stays to tell it to workers that come late.
  std::chrono::milliseconds linger{0};
  WallClock clock = {};
  EventSink events = [](const Event&) {};
  std::function<Status(Ports)> on_listening = [](Ports) { return Status{}; };
  const std::atomic<bool>* stop = nullptr;  // true ends the run early. Borrowed.
};

struct ServeReport {
  ServerStatus status;        // at the end, with the last evaluation
  bool is_complete = false;   // all the updates of the plan were accepted
  bool was_complete = false;  // already when it was resumed: nothing was left to do
};

// Serves until the plan's updates are accepted or somebody asks to stop; then saves, evaluates,
// writes the model and returns. An update is acknowledged only once the journal has it, and none
// after the last checkpoint, so that what was acknowledged is what a resumed run goes on from. An
// error if it cannot begin, and then a new state folder is gone again; if the journal fails; or if
// the last checkpoint or the last model cannot be written.
Result<ServeReport> serve(const Plan& plan, const ServeOptions& options);

}  // namespace ballast::service
