#pragma once
// What a service has to tell while it runs. The library prints nothing: whoever starts it passes a
// sink, which the program turns into log lines.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ballast::service {

enum class Severity { kInfo, kWarning, kError };

// A number, a text, true or false, or nothing (null).
class EventValue {
 public:
  using Any = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string>;

  // NOLINTBEGIN(google-explicit-constructor): so that a list of fields can be written down
  EventValue(std::nullptr_t) {}
  EventValue(bool value) : any_(value) {}
  EventValue(double value) : any_(value) {}
  EventValue(std::string value) : any_(std::move(value)) {}
  EventValue(std::string_view value) : any_(std::string(value)) {}
  EventValue(const char* value) : any_(std::string(value)) {}
  template <std::unsigned_integral T>
  EventValue(T value) : any_(static_cast<std::uint64_t>(value)) {}
  template <std::signed_integral T>
  EventValue(T value) : any_(static_cast<std::int64_t>(value)) {}
  // NOLINTEND(google-explicit-constructor)

  const Any& any() const noexcept { return any_; }

 private:
  Any any_;
};

struct EventField {
  std::string name;
  EventValue value;
};

struct Event {
  Severity severity = Severity::kInfo;
  std::string name;                     // what happened: "joined"
  std::vector<EventField> fields = {};  // and its circumstances, in the order of the log line
};

// Called from several threads at once.
using EventSink = std::function<void(const Event&)>;

// The event as one JSON object without a line feed: time, level, event, then the fields. What is no
// number in JSON becomes null, and bytes that are no UTF-8 are replaced.
std::string log_line(const Event& event, std::chrono::sys_time<std::chrono::milliseconds> time);

// How many log lines each worker may cause. A worker that is refused, or comes and goes, as fast as
// it can would else fill the disk.
//
// Thread-safety: none; one thread at a time. Time is an argument.
class LogLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // So many lines at once, then one for each of these pauses.
  static constexpr int kBurst = 20;
  static constexpr std::chrono::seconds kPause{5};

  explicit LogLimiter(std::size_t worker_count) : accounts_(worker_count) {}

  // How many lines of this worker were left out since its last one; none: leave this one out too.
  //
  // Requires: worker < worker_count; times do not go back.
  std::optional<std::uint64_t> spend(std::uint32_t worker, Time now);

 private:
  struct Account {
    std::chrono::duration<double> credit = kBurst * kPause;
    Time since{};
    std::uint64_t left_out = 0;
  };
  std::vector<Account> accounts_;
};

}  // namespace ballast::service
