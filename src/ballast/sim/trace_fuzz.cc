// Any text is either refused in one line or a list of workers that exist.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/sim/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kWorkers = 17;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = ballast::sim::parse_trace(text, kWorkers);
  if (!trace) {
    BALLAST_CHECK(trace.error().message.find('\n') == std::string::npos, "errors have one line");
    return 0;
  }
  BALLAST_CHECK(!trace->empty() && trace->size() <= size, "memory is bounded by the input");
  BALLAST_CHECK(std::ranges::max(*trace) < kWorkers, "the workers exist");
  return 0;
}
