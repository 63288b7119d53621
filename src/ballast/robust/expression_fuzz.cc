// Any text is either refused or has a canonical text that reads back as the same expression.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/robust/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ballast::robust::parse_expression;
  const auto expression =
      parse_expression(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!expression) return 0;
  const std::string canonical = to_string(*expression);
  const auto again = parse_expression(canonical);
  BALLAST_CHECK(again.has_value(), "the canonical text is an expression");
  BALLAST_CHECK(*again == *expression, "the canonical text means the same");
  BALLAST_CHECK(to_string(*again) == canonical, "the canonical text is a fixed point");
  return 0;
}
