#pragma once
// Which values of the keys fit together. Everything here is looked at before anything runs.

#include <map>
#include <string>

#include "ballast/assembly/run_spec.h"
#include "ballast/base/error.h"

namespace ballast::assembly {

// More of these is a slip of the finger, not an experiment.
inline constexpr std::uint64_t kWorkersMax = 100'000;
inline constexpr std::uint64_t kBatchMax = 1'000'000;
inline constexpr std::uint64_t kShardsMax = 1000;
inline constexpr std::uint64_t kHiddenMax = 1'000'000;
inline constexpr std::uint64_t kUpdatesMax = 1'000'000'000'000;

// Where the values of a run were set, so that an error can say so.
struct Origins {
  std::string file;  // blamed for the defaults
  // Of each key that was set, by name: "spec.toml:12: share = 0.6" or "--set share=0.6".
  std::map<std::string, std::string, std::less<>> by_key;
};

// Refuses numbers out of range, unknown names, expressions that do not parse, a rule that cannot
// take so many rows, and values that contradict each other. Keys that the others make irrelevant
// (`gamma` with alpha = "t") are not looked at. The error is one line that begins with the
// origin of the key.
//
// Requires: run == resolve(run).
Status validate(const RunSpec& run, const Origins& origins = {});

// Refuses a run whose own files (arrays, model, trace) do not exist. Data sets known by name are
// not looked for: loading them says what to do.
Status check_files(const RunSpec& run, const Origins& origins = {});

}  // namespace ballast::assembly
