#pragma once
// Everything of a ParameterServer that changes from update to update: what a checkpoint writes down
// and what a restored server goes on from. Settings, rule and backend are not part of it; whoever
// restores makes the server anew from the same ones.
//
// Rows may hold many gigabytes, so what is written is borrowed and what was read is owned.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ballast/optim/server_optimizer.h"
#include "ballast/server/parameter_server.h"

namespace ballast::server {

struct ServerStateView {
  std::uint64_t accepted_count = 0;
  std::uint64_t unknown_count = 0;
  std::uint64_t steps = 0;   // the version of the model
  std::span<const float> w;  // the optimizer's iterate
  std::span<const float> x;  // empty where the model is w itself
  std::vector<SenderRecord> senders;
  std::vector<std::span<const float>> statistics;  // of each worker; empty: it has no part
  std::span<const float> last_statistics;          // from before a pause; empty: none
  std::string method;                              // its description
  MethodStateView method_state;
};

struct ServerState {
  std::uint64_t accepted_count = 0;
  std::uint64_t unknown_count = 0;
  optim::OptimizerState<float> optimizer;
  std::vector<SenderRecord> senders;
  std::vector<std::vector<float>> statistics;
  std::vector<float> last_statistics;
  std::string method;
  MethodState method_state;

  // Borrows from this; valid while it is unchanged.
  ServerStateView view() const;
};

// A copy that outlives the server.
ServerState copy(const ServerStateView& view);

}  // namespace ballast::server
