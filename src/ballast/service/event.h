#pragma once
// What a service has to tell while it runs. The library prints nothing: whoever starts it passes a
// sink, which the program turns into log lines.

#include <functional>
#include <string>
#include <string_view>

namespace ballast::service {

enum class Severity { kInfo, kWarning, kError };

struct Event {
  Severity severity = Severity::kInfo;
  // The members of a JSON object, without its braces: "event":"joined","worker":"worker-0".
  std::string members;
};

// Called from several threads at once.
using EventSink = std::function<void(const Event&)>;

// A text and a number as JSON has them; what is no number there becomes null.
std::string json_text(std::string_view text);
std::string json_number(double value);

}  // namespace ballast::service
