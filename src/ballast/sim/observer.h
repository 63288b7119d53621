#pragma once
// What a simulated run tells whoever watches it.

#include <cstdint>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/sim/arrival.h"

namespace ballast::sim {

// One arrival, after the server has dealt with it. Borrowed.
struct ArrivalRecord {
  std::uint64_t t = 0;  // counts the arrivals from 1
  std::uint32_t worker = 0;
  bool is_byzantine = false;
  Instant at = Instant::zero();
  std::uint64_t version = 0;    // of the model that the update was computed on
  double loss = 0.0;            // of the update's sample at that model, as the worker saw it
  server::Snapshot reply = {};  // the model that the worker has now
  const server::Outcome& outcome;
};

enum class Next : std::uint8_t { kContinue, kStop };

// Observers watch and never steer: they may stop the run, not change it.
class Observer {
 public:
  virtual ~Observer() = default;

  // Called after every arrival, on the thread that called run(). An error ends the run with it.
  virtual Result<Next> on_arrival(const ArrivalRecord& record,
                                  const server::ParameterServer& server) = 0;
};

}  // namespace ballast::sim
