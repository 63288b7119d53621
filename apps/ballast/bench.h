#pragma once
// How fast the rules are on this machine, against one streaming read of the same table measured in
// the same run.

#include <cstdint>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/robust/rule.h"

namespace ballast::apps {

enum class BenchMode {
  kFull,     // from nothing
  kNoisy,    // one row replaced per call: new = 0.75 old + 0.66 noise
  kSettled,  // one row replaced per call: new = old + 0.01 noise
};
inline constexpr BenchMode kBenchModes[] = {BenchMode::kFull, BenchMode::kNoisy,
                                            BenchMode::kSettled};
std::string_view to_string(BenchMode mode) noexcept;

struct BenchSize {
  std::size_t rows = 17;
  std::size_t dim = 1'000'000;
  std::size_t threads = 1;
  std::string device = "cpu";
};

struct BenchResult {
  double call_ms;    // one call
  double stream_ms;  // one read of the table
  double ratio() const noexcept { return call_ms / stream_ms; }
};

// Measures the rule that the text names in one mode. New rows come from the host's memory, and a
// call ends when the device has its result. Both times are lower quartiles over repeated
// calls; the reads are made before and after the calls, so that a slow phase of the machine touches
// both.
Result<BenchResult> bench_rule(std::string_view text, BenchMode mode, const BenchSize& size);

}  // namespace ballast::apps
