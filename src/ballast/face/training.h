#pragma once
// Private to face/: a Training as the server of the rooms.

#include <cstddef>
#include <functional>

#include "ballast/face/method_adapter.h"
#include "ballast/server/parameter_server.h"
#include "ballast/training.h"

namespace ballast::face {

struct MadeServer {
  server::ParameterServer server;
  const MethodAdapter* own_method = nullptr;  // inside the server; null: the table

  // What a caller's method did wrong, if there is one and it did.
  Status fault() const { return own_method == nullptr ? Status{} : own_method->fault(); }
};

Result<MadeServer> make_server(std::size_t worker_count, Training training,
                               server::AdmissionOptions admission);

// A second method like that server's, for an adversary that tries its updates on it first. Refuses
// a method of the caller's own, of which there is only one.
Result<server::MethodPointer> make_preview_method(std::size_t worker_count,
                                                  const Training& training);

Snapshot public_snapshot(const server::Snapshot& snapshot);
Verdict public_verdict(server::Verdict verdict) noexcept;
WorkerFacts facts_of(const server::WorkerRecord& record);

}  // namespace ballast::face
