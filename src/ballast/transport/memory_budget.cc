#include "ballast/transport/memory_budget.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "ballast/wire/limits.h"

namespace ballast::transport {
namespace {

constexpr std::uint64_t kLibraries = std::uint64_t{32} << 20;  // measured: 20 MiB with gRPC 1.51
constexpr std::uint64_t kPerConnection = std::uint64_t{64} << 10;

// Being read, being parsed or cut, and being written.
constexpr std::uint64_t kMessagesPerWorker = 3;

// Vectors as long as the model, besides those per worker. The table: the spare row, the result, the
// centre and the median, with what is remembered of each column. The models: two iterates of the
// optimizer, the newest snapshot and the one before.
constexpr std::uint64_t kTableVectors = 10;
constexpr std::uint64_t kModelVectors = 4;

// A line of /proc/self/status, which counts in KiB.
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    std::uint64_t kilobytes = 0;
    if (word == key && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

MemoryBudget memory_budget(const NetworkLimits& limits, const server::ServerOptions& options,
                           std::size_t dim, std::size_t further_vectors) {
  const std::uint64_t workers = options.worker_count;
  const std::uint64_t vector = dim * sizeof(float);
  const std::uint64_t statistics = options.statistic_count * sizeof(float);
  return {.process = status_bytes("VmRSS:"),
          .libraries = kLibraries,
          .slots = workers * (vector + statistics),
          // A rule that mixes rows keeps a second table.
          .table = (2 * workers + kTableVectors + further_vectors) * vector + workers * statistics +
                   workers * workers * sizeof(double),
          .models = (limits.models_per_worker_max * workers + kModelVectors) * vector,
          .messages = workers * kMessagesPerWorker * wire::kMessageBytesMax,
          .connections = limits.connections_max * kPerConnection,
          .buffers = limits.memory_bytes_max};
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t resident_bytes_max() { return status_bytes("VmHWM:"); }

}  // namespace ballast::transport
