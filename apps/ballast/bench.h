#pragma once
// How fast the rules are on this machine, against one streaming read of the same table measured in
// the same run.

#include <cstdint>
#include <limits>
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

// How long one measurement lasts: calls to warm up, then calls until there are enough of them and
// the time is over, but none that begins after time_ms_max.
struct BenchEffort {
  int warm_up_calls = 20;  // enough for the median follower to choose its way
  int calls_min = 11;
  double measure_ms = 700.0;
  double time_ms_max = std::numeric_limits<double>::infinity();
};
// For many sizes in a row.
inline constexpr BenchEffort kQuickEffort = {
    .warm_up_calls = 6, .calls_min = 7, .measure_ms = 100.0, .time_ms_max = 3000.0};

struct BenchResult {
  double call_ms;    // one call
  double stream_ms;  // one read of the table
  double ratio() const noexcept { return call_ms / stream_ms; }
};

// Measures the rule that the text names in one mode. New rows come from the host's memory, and a
// call ends when the device has its result. Both times are lower quartiles over repeated
// calls; the reads are made before and after the calls, so that a slow phase of the machine touches
// both.
Result<BenchResult> bench_rule(std::string_view text, BenchMode mode, const BenchSize& size,
                               const BenchEffort& effort = {});

// All inner products of the table, in multiply-adds a second, against what this machine reaches at
// most in the same run.
struct ProductsResult {
  double ms;
  double rate;  // multiply-adds a second
  double peak;
  double share() const noexcept { return rate / peak; }
};
ProductsResult bench_products(const BenchSize& size);

// m (m + 1) / 2 products of dim multiply-adds each.
double products_work(const BenchSize& size) noexcept;

}  // namespace ballast::apps
