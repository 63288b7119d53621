// Any bytes are, as a list of workers and as a list of revoked certificates, either refused in one
// line or a list that reads back as it was written.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/identity/deny_list.h"
#include "ballast/identity/name.h"
#include "ballast/identity/workers_file.h"

namespace {

namespace identity = ballast::identity;

template <typename Parsed>
bool is_refused(const Parsed& parsed) {
  if (parsed) return false;
  BALLAST_CHECK(parsed.error().message.find('\n') == std::string::npos, "errors have one line");
  return true;
}

void try_workers(std::string_view text) {
  const auto names = identity::parse_workers_file(text);
  if (is_refused(names)) return;
  BALLAST_CHECK(!names->empty(), "a list names somebody");
  std::string written;
  for (const std::string& name : *names) {
    BALLAST_CHECK(identity::is_name(name), "names are checked");
    written += name + '\n';
  }
  BALLAST_CHECK(std::set(names->begin(), names->end()).size() == names->size(), "each name once");
  const auto again = identity::parse_workers_file(written);
  BALLAST_CHECK(again.has_value() && *again == *names, "lists read back");
}

void try_denied(std::string_view text) {
  const auto denied = identity::parse_deny_list(text);
  if (is_refused(denied)) return;
  const std::string written = identity::format_deny_list(*denied);
  const auto again = identity::parse_deny_list(written);
  BALLAST_CHECK(again && identity::format_deny_list(*again) == written, "lists read back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_workers(text);
  try_denied(text);
  return 0;
}
