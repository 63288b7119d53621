#pragma once
// From the words of a specification to the parts of a run.
//
// Requires, for all: a resolved and valid run.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ballast/assembly/materials.h"
#include "ballast/assembly/run_spec.h"
#include "ballast/attacks/attack.h"
#include "ballast/base/error.h"
#include "ballast/data/partition.h"
#include "ballast/optim/estimator.h"
#include "ballast/server/parameter_server.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/arrival.h"

namespace ballast::assembly {

sim::Population population(const RunSpec& run);

server::WeightPolicy weight_policy(const RunSpec& run);

optim::EstimatorOptions estimator_options(const RunSpec& run);

// How a server judges senders that it does not know to keep the pace: workers wait while the method
// has no use for their updates, and none gets far ahead of the others. The caller adds names.
server::AdmissionOptions network_admission(const RunSpec& run);

// What a specification does not say about a server.
struct ServerSetting {
  // A trainer lets it aggregate on one thread: the others compute gradients meanwhile, and threads
  // that wait for rows would be in their way. A server on a network has its machine for itself; 0:
  // server_threads().
  std::size_t threads = 1;
  std::size_t rows_min = 1;  // before a table's step, beside what the weights need
  bool shows_models = true;  // as in server::ServerOptions
};

// As many threads as have work for about a millisecond each: to wake one for less takes longer than
// it saves, and takes from the transfers.
std::size_t server_threads(std::size_t workers, std::size_t dim) noexcept;

// The server of the run, its model initialised from the seed. Where its method needs data of the
// server's own they are those that training_data() gives to no worker.
Result<server::ParameterServer> make_server(const RunSpec& run, std::uint64_t seed,
                                            const Material& material,
                                            const server::AdmissionOptions& admission = {},
                                            const ServerSetting& setting = {});

// The same without data, for reading states: a method that needs some refuses every update.
Result<server::ParameterServer> make_server(const RunSpec& run, std::uint64_t seed,
                                            const learn::Model& model,
                                            const server::AdmissionOptions& admission = {},
                                            const ServerSetting& setting = {});

// What the workers of the run learn from.
Result<learn::TrainingData> training_data(const RunSpec& run, std::uint64_t seed,
                                          const DataPair& data);

// A second method like the server's, for an adversary that tries its updates on it first. Null
// where the attack does not.
Result<server::MethodPointer> make_preview_method(const RunSpec& run, std::uint64_t seed,
                                                  const Material& material,
                                                  const attacks::Attack* attack);

// The run's attack, none without Byzantine workers.
Result<attacks::AttackPointer> make_run_attack(const RunSpec& run);

// Who arrives, `updates` times.
Result<std::vector<sim::Arrival>> make_arrivals(const RunSpec& run, std::uint64_t seed);

}  // namespace ballast::assembly
