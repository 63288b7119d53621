// Any JSON is either refused in one line or a manifest that reads back as it was written.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/store/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace store = ballast::store;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)store::parse_manifest(text);
  // Without the checksum, which a fuzzer would not get past.
  const auto manifest = store::parse_manifest_body(text);
  if (!manifest) {
    BALLAST_CHECK(manifest.error().message.find('\n') == std::string::npos, "errors have one line");
    return 0;
  }
  const std::string written = store::to_text(*manifest);
  const auto again = store::parse_manifest(written);
  BALLAST_CHECK(again.has_value() && store::to_text(*again) == written, "manifests read back");
  return 0;
}
