#pragma once
// Training in a simulated cluster: the real server, the real workers, gradients and attacks of your
// own, and arrivals drawn by a schedule.
//
// Determinism: the result is the same bits for any number of threads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ballast/attack.h"
#include "ballast/error.h"
#include "ballast/gradient.h"
#include "ballast/training.h"

namespace ballast {

// One arrival, after the server has dealt with it.
struct ArrivalFacts {
  std::uint64_t t = 0;  // counts the arrivals from 1
  std::uint32_t worker = 0;
  bool is_byzantine = false;
  double loss = 0.0;  // of the update's sample, as the worker saw it
  Verdict verdict = Verdict::kAccepted;
  bool has_stepped = false;
  Snapshot newest;
};

struct Simulation {
  std::size_t honest = 1;     // workers 0 .. honest - 1
  std::size_t byzantine = 0;  // and the ones after them
  double share = 0.0;         // of the arrivals that are Byzantine, below 1
  // Who comes next: "uniform", "id", "id^2", "round-robin", "burst(10)".
  std::string arrivals = "uniform";
  std::uint64_t updates = 1000;
  std::uint64_t seed = 0;   // of arrivals and samples
  std::size_t threads = 1;  // that compute gradients
  // One for each worker, or one for all, which needs threads = 1.
  std::vector<std::shared_ptr<GradientSource>> sources = {};
  std::shared_ptr<const Attack> attack = nullptr;  // none: the Byzantine workers are honest
  // Called after every arrival; false ends the run.
  std::function<bool(const ArrivalFacts&)> observer = {};
};

struct SimulationResult {
  Snapshot model;
  bool is_complete = false;  // false: the observer ended it
  std::uint64_t arrivals = 0;
  std::uint64_t byzantine_arrivals = 0;
  std::uint64_t accepted = 0;
  std::vector<WorkerFacts> workers;
  std::vector<NamedNumber> method_figures;
};

Result<SimulationResult> simulate(Training training, const Simulation& simulation);

}  // namespace ballast
