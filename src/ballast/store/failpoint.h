#pragma once
// Named places at which a test can stop the process or make a call of the operating system fail,
// to find out what a crash or a full disk leaves behind. Compiled in always, so that what is tested
// is what is deployed; one relaxed load while none is set.
//
// Thread-safety: any thread may reach a failpoint; set and clear one while none is being reached.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::store {

enum class FailpointAction : std::uint8_t {
  kKill,  // SIGKILL, as by kill -9
  kFail,  // the call returns `error` without being made
};

struct Failpoint {
  std::string name;       // "any": every one counts
  std::uint64_t hit = 1;  // acts when it is reached for this time, and only then
  FailpointAction action = FailpointAction::kKill;
  int error = 0;  // of errno
};

// All names: first those of calls, which can fail, then those of moments, at which only kKill acts.
std::span<const std::string_view> failpoint_names() noexcept;

// Replaces the failpoint that is set and starts counting at 0.
// Requires: a name from the list, or "any".
void set_failpoint(Failpoint failpoint);
void clear_failpoint();

// Sets the one that a text names: NAME:HIT:ACTION with ACTION kill, eio or enospc, for example
// "sync:3:eio".
Status set_failpoint(std::string_view text);

// Sets the one that the environment variable BALLAST_FAILPOINT names, if there is one.
Status set_failpoint_from_environment();

// How often the failpoint that is set was reached.
std::uint64_t failpoint_hits();

extern std::atomic<bool> is_failpoint_set;

// The error to pretend, or 0.
int reach_failpoint(std::string_view name);

}  // namespace ballast::store

#define BALLAST_FAILPOINT(name)                                       \
  (::ballast::store::is_failpoint_set.load(std::memory_order_relaxed) \
       ? ::ballast::store::reach_failpoint(name)                      \
       : 0)
