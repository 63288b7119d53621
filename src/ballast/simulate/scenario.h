#pragma once
// What one seed stands for: a server's settings, its workers, its network, and what goes wrong
// when.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/admission.h"
#include "ballast/server/weight_policy.h"

namespace ballast::simulate {

using server::Instant;

// What goes wrong, or what an operator does.
enum class DisturbanceKind : std::uint8_t {
  kBreakStream,  // a worker's connection breaks
  kForget,       // a worker's process dies and starts anew, without memory
  kCutOff,       // a worker reaches nobody for a while
  kStall,        // the server does not look at anything for a while
  kKill,         // the server's process is killed
  kPowerLoss,    // the server's machine stops: what was not flushed is lost in parts
  kDieAtWrite,   // the same in the middle of a change of the disk
  kDiskError,    // one change of the disk fails
  kDiskFull,     // no room for checkpoints, for a while
  kJournalFull,  // no room for anything, for a while
  kDamage,       // a byte of the newest checkpoint changes, and the server is killed
  kStop,         // the operator stops the server and resumes it
  kEnrol,        // one worker more: while it runs if there is a place, or by stop and resume
  kRevoke,       // a worker's certificate is revoked, a hostile one's for good
};
inline constexpr std::size_t kDisturbanceKindCount = 14;

std::string_view name(DisturbanceKind kind) noexcept;

struct Disturbance {
  DisturbanceKind kind = DisturbanceKind::kStall;
  std::uint64_t event = 0;  // happens before this event
  std::uint32_t worker = 0;
  std::uint64_t change = 1;  // of the disk, from then on
  Instant length = Instant::zero();
};

// How a hostile worker spends its time, beside what all of them do.
enum class Habit : std::uint8_t {
  kMixed,     // a bit of everything
  kFlooder,   // answers at once, several times
  kRejoiner,  // joins anew before each update
  kSilent,    // takes models and sends nothing
  kReplayer,  // sends again what was sent, by anybody
  kGarbage,   // wrong shapes, wrong checksums, forged tickets
};
inline constexpr std::size_t kHabitCount = 6;

struct NetworkFaults {
  double drop = 0.0, repeat = 0.0, reorder = 0.0;  // probabilities of a message
  Instant delay = Instant::zero();                 // mean
};

inline constexpr const char* kTable = "table";

struct Scenario {
  std::uint64_t seed = 0;
  std::size_t workers = 1;
  std::size_t free_places = 0;      // for workers that are enrolled while the server runs
  std::vector<Habit> hostile = {};  // of the first workers, at most f
  std::size_t dim = 1, statistic_count = 0;
  // What the server does with updates. The table goes by weights, rule and past; for the others the
  // weights only say how many workers may lie.
  std::string method = kTable;
  std::string weights = {}, rule = {};
  std::uint64_t past = 0;  // by which rows are judged; 0 for rules that have no coefficients
  server::WeightPolicy policy = server::CountWeights{};
  server::LeadLimit lead = {};
  bool averages = true;  // the optimizer: mu^2-SGD or SGD
  std::uint64_t checkpoint_every = 1, unsaved_max = 1;
  Instant tick{}, silence_max{};
  NetworkFaults network = {};

  bool has_table() const { return method == kTable; }
};

// Workers that may be enrolled during a run.
inline constexpr std::size_t kGrowth = 2;

// As a seed draws it. Specifications that `is_allowed` refuses are drawn again: what the server
// program refuses to start is not simulated.
using IsAllowed = Status (*)(const server::WeightPolicy& policy, std::size_t workers);
Scenario draw_scenario(std::uint64_t seed, IsAllowed is_allowed);

// What goes wrong during so many events. Fewer events have the same disturbances as long as they
// last, so that a run can be cut short.
std::vector<Disturbance> draw_disturbances(std::uint64_t seed, std::uint64_t events,
                                           std::size_t workers);

// One line each, for people.
std::string describe(const Scenario& scenario);
std::string describe(const Disturbance& disturbance);

}  // namespace ballast::simulate
