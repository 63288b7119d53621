// Any bytes are either refused or tensors as large as their shapes say.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/base/check.h"
#include "ballast/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ballast::files::ArrayView;
  const auto tensors = ballast::files::parse_safetensors(std::as_bytes(std::span(data, size)));
  if (!tensors) {
    BALLAST_CHECK(tensors.error().message.find('\n') == std::string::npos, "errors have one line");
    return 0;
  }
  std::size_t bytes = 0;
  // The view checks the size; 16-bit floats take twice their bytes in the file.
  for (const auto& tensor : tensors->tensors) bytes += ArrayView(tensor.array).bytes().size();
  BALLAST_CHECK(bytes <= 2 * size, "memory is bounded by the input");
  return 0;
}
