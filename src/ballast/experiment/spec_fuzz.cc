// Any text is either refused with one line, or has a resolved text that reads back as the same
// specification and expands to the same runs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/experiment/grid.h"
#include "ballast/experiment/spec.h"

namespace {

using ballast::experiment::Spec;

bool is_one_line(const ballast::Error& error) {
  return error.message.find('\n') == std::string::npos;
}

void check_expansion(const Spec& spec, const Spec& again) {
  const auto runs = expand(spec);
  const auto runs_again = expand(again);
  BALLAST_CHECK(runs.has_value() == runs_again.has_value(), "the resolved text is as good");
  if (runs) BALLAST_CHECK(*runs == *runs_again, "the resolved text has the same runs");
  if (!runs) BALLAST_CHECK(is_one_line(runs.error()), "an error is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ballast::experiment::parse_spec;
  const auto spec =
      parse_spec(std::string_view(reinterpret_cast<const char*>(data), size), "/folder/spec.toml");
  if (!spec) {
    BALLAST_CHECK(is_one_line(spec.error()), "an error is one line");
    return 0;
  }
  const std::string resolved = to_toml(*spec);
  const auto again = parse_spec(resolved, "/elsewhere/resolved.toml");
  BALLAST_CHECK(again.has_value(), "the resolved text is a specification");
  BALLAST_CHECK(*again == *spec, "the resolved text means the same");
  BALLAST_CHECK(to_toml(*again) == resolved, "the resolved text is a fixed point");
  check_expansion(*spec, *again);
  return 0;
}
