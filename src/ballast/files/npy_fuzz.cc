// Any bytes are either refused or an array as large as its shape says.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/base/check.h"
#include "ballast/files/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto array = ballast::files::parse_npy(std::as_bytes(std::span(data, size)));
  if (!array) {
    BALLAST_CHECK(array.error().message.find('\n') == std::string::npos, "errors have one line");
    return 0;
  }
  // The view checks the size; 16-bit floats take twice their bytes in the file.
  const ballast::files::ArrayView view(*array);
  BALLAST_CHECK(view.bytes().size() <= 2 * size, "memory is bounded by the input");
  (void)to_doubles(view);
  return 0;
}
