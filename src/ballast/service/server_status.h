#pragma once
// What can be seen of a serving run, as plain values, and the two texts made of them: the JSON of
// /status and the lines of /metrics.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/server/parameter_server.h"
#include "ballast/service/http.h"
#include "ballast/transport/server.h"

namespace ballast::service {

struct WorkerStatus {
  std::string name;
  std::string_view state = "away";   // computing, held or away
  std::uint64_t count = 0;           // accepted updates that its row rests on
  std::uint64_t lifetime_count = 0;  // accepted updates in all
  double weight_share = 0.0;         // of the weight of all
  double kept = 0.0;                 // of its weight, what the rule used last
  std::uint64_t staleness = 0;       // of the last accepted update
  double norm = 0.0;                 // of its row
  double distance = 0.0;             // of its row to the last direction
  std::array<std::uint64_t, server::kVerdictCount> verdicts{};
};

struct LastEvaluation {
  std::uint64_t accepted = 0;  // updates the model had seen
  double accuracy = 0.0;
  double loss = 0.0;
};

struct ServerStatus {
  std::string run = {};
  std::uint64_t incarnation = 1;
  std::uint64_t generation = 0;   // of the last checkpoint; 0: none
  std::uint64_t unsaved = 0;      // accepted updates that no checkpoint holds
  std::uint64_t unsaved_max = 0;  // more are not acknowledged
  std::uint64_t checkpoint_failures = 0;
  std::uint64_t lost_at_resume = 0;  // acknowledged by the life before this one, and gone
  bool is_acknowledging = true;
  std::uint64_t version = 0;
  std::uint64_t accepted = 0;
  std::uint64_t updates = 0;  // after so many the run ends
  std::optional<std::string> pause_reason = {};
  std::string method = {};                               // as one writes it in a specification
  std::vector<server::NamedNumber> method_figures = {};  // what it tells of itself
  std::uint64_t evictions = 0;
  std::size_t places = 0;                         // for the workers below and for newcomers
  std::optional<LastEvaluation> evaluation = {};  // the last one
  transport::NetworkCounts network = {};
  std::vector<WorkerStatus> workers = {};
};

// What the server knows; the caller adds the rest. Measures of workers that have none are zeros.
ServerStatus status_of(const server::ParameterServer& server,
                       const std::vector<robust::RowMeasure>& measures);

// One JSON object, ended by a line feed.
std::string status_json(const ServerStatus& status);

// In the text format of Prometheus, version 0.0.4. Names are kept safe by who may enrol.
std::string metrics_text(const ServerStatus& status);

// The three questions an orchestrator asks a server. They differ, because the answers call for
// different things: a process that hangs is started again, one that takes no workers gets no
// traffic, and a model that does not move is for a person to look at.
struct Health {
  bool is_acknowledging = false;  // takes updates; false while it ends or waits for the disk
  bool is_stepping = false;       // the model moves: enough workers have sent
  bool is_over = false;           // the training has ended, or the server is ending
};

// /livez: the process answers. /readyz: workers may come; true before the first one does. /healthz:
// the model moves. None for another path.
std::optional<HttpAnswer> probe(std::string_view path, const Health& health);

}  // namespace ballast::service
