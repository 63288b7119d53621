#pragma once
// A whole cluster on this machine for trying things out: a certificate authority, a server and the
// workers of a specification, honest and Byzantine, each a process of its own.

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/service/event.h"
#include "ballast/service/plan.h"

namespace ballast::service {

struct LocalClusterOptions {
  std::filesystem::path program;           // the program `ballast`
  std::filesystem::path spec;              // its specification
  std::vector<std::string> settings = {};  // KEY=VALUE, in place of what the specification says
  std::filesystem::path folder;            // must not exist: certificates, logs, checkpoints
  std::string http = {};                   // HOST:PORT of the server's status; empty: none
  std::size_t threads = 1;                 // that the server aggregates on
  WallClock clock = {};
  EventSink events = [](const Event&) {};
  const std::atomic<bool>* stop = nullptr;  // true ends it early. Borrowed.
};

// Runs until the server has ended, by itself or because it was asked to, then ends the workers. A
// worker that dies is reported as an event, and the others go on. The answer is what the server
// printed: its last status as JSON.
//
// Folder: ca/ (the authority and all certificates), state/ (checkpoints), model.safetensors,
// result.json, server.log, and a NAME.log for each worker.
Result<std::string> run_local_cluster(const LocalClusterOptions& options);

}  // namespace ballast::service
