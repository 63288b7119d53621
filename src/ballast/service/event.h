#pragma once
// What a service has to tell while it runs. The library prints nothing: whoever starts it passes a
// sink, which the program turns into log lines.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
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

}  // namespace ballast::service
