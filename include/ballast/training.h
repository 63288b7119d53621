#pragma once
// What is trained and how: the same for a simulation, a server in process and one on the network.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ballast/compute.h"
#include "ballast/method.h"
#include "ballast/optimizer.h"

namespace ballast {

struct Training {
  std::vector<float> start;  // the first model
  Optimizer optimizer = {};
  // Of the row table; without a meaning where there is a method of your own.
  std::string rule = "ctma(cwmed, 0.4)";
  std::string weights = "count";  // "count", "uniform", "f-cap(1, 0.2) & f-cap(8, 0.45)"
  std::unique_ptr<Method> method = nullptr;
  // One of the library's, where there is none of your own: "table", "basgd(10, cwmed)",
  // "fedbuff(4)". Those that need data of the server's own are refused.
  std::string named_method = "table";
  Compute compute = {};
  std::optional<std::uint64_t> staleness_max = {};  // older updates are refused
  std::size_t statistic_count = 0;                  // running statistics that an update brings
  std::uint64_t seed = 0;                           // of rules that draw random numbers
};

// What became of an update.
enum class Verdict : std::uint8_t {
  kAccepted,
  kUnknownWorker,
  kWrongShape,
  kReplayed,
  kUnasked,
  kStale,
  kNotFinite,
  kForged,
  kMalformed,
  kFiltered,  // the method refused it
};

// "accepted", "unknown-worker", ...
std::string name_of(Verdict verdict);

// What a server knows of a worker.
struct WorkerFacts {
  std::uint64_t count = 0;           // accepted updates that its row rests on
  std::uint64_t lifetime_count = 0;  // accepted updates in all
  double weight = 0.0;               // in updates; 0 where the method gives none
  double kept = 0.0;                 // the fraction of it that was used last
  std::uint64_t staleness = 0;       // of the last accepted update
};

}  // namespace ballast
