// Feeds a reader chunks whose fields the fuzzer chose, and a ticket of the fuzzer's bytes. Whatever
// comes, the memory around the target stays as it was.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/wire/crc32c.h"
#include "ballast/wire/payload.h"
#include "ballast/wire/test_mac.h"
#include "ballast/wire/ticket.h"

namespace {

constexpr std::size_t kMargin = 64;

template <typename Number>
Number take(std::span<const std::byte>& input) {
  Number number{};
  const std::size_t size = std::min(sizeof(number), input.size());
  std::memcpy(&number, input.data(), size);
  input = input.subspan(size);
  return number;
}

void read_chunks(std::span<const std::byte> input) {
  const auto encoding = take<std::uint8_t>(input) % 2 == 0 ? ballast::wire::Encoding::kFloat32
                                                           : ballast::wire::Encoding::kBfloat16;
  const std::size_t size = take<std::uint16_t>(input);
  const std::size_t values = std::min<std::size_t>(take<std::uint16_t>(input), size);
  std::vector<float> memory(size + 2 * kMargin, 1.0f);
  const auto target = std::span(memory).subspan(kMargin, size);
  ballast::wire::PayloadReader reader(target.first(values), target.subspan(values), encoding);
  while (!input.empty()) {
    const auto is_in_order = take<std::uint8_t>(input) % 4 != 0;
    const std::uint64_t offset = is_in_order ? reader.received_count() : take<std::uint64_t>(input);
    const std::size_t length = std::min<std::size_t>(take<std::uint8_t>(input), input.size());
    const auto bytes = input.first(length);
    input = input.subspan(length);
    const std::uint32_t crc = ballast::wire::crc32c(bytes) ^ (is_in_order ? 0u : length % 2);
    (void)reader.take({.offset = offset, .checksum = crc, .bytes = bytes});
  }
  BALLAST_CHECK(reader.received_count() <= size, "never more than fits");
  for (std::size_t i = 0; i < kMargin; ++i) {
    BALLAST_CHECK(memory[i] == 1.0f && memory[memory.size() - 1 - i] == 1.0f, "margins untouched");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  (void)ballast::wire::open_ticket(input, "run", ballast::wire::toy_mac);
  read_chunks(input);
  return 0;
}
