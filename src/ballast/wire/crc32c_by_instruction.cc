// The checksum by the instruction that SSE 4.2 has for it.

#include <algorithm>
#include <array>
#include <cstring>

#include "ballast/wire/crc32c.h"
#include "ballast/wire/crc32c_ways.h"

#if defined(__x86_64__)

namespace ballast::wire {
namespace {

// The instruction gives a result every cycle but takes three, so three lanes are read at a time.
// They are short, for the processor to see one stream of memory and fetch it ahead.
constexpr std::size_t kLaneBytes = 256;
constexpr std::size_t kLanes = 3;

// Small enough to be in the first-level cache when it is read for the second time.
constexpr std::size_t kStrideBytes = 16 * kLanes * kLaneBytes;

// What a remainder becomes when kLaneBytes zeros follow: linear, so one table entry per byte of it.
class LaneShift {
 public:
  LaneShift() noexcept {
    for (std::uint32_t byte = 0; byte < 4; ++byte) {
      for (std::uint32_t value = 0; value < 256; ++value) {
        tables_[byte][value] = followed_by_zeros(value << (8 * byte));
      }
    }
  }
  std::uint32_t operator()(std::uint32_t remainder) const noexcept {
    return tables_[0][remainder & 0xFFu] ^ tables_[1][remainder >> 8 & 0xFFu] ^
           tables_[2][remainder >> 16 & 0xFFu] ^ tables_[3][remainder >> 24];
  }

 private:
  static std::uint32_t followed_by_zeros(std::uint32_t remainder) noexcept {
    constexpr std::array<std::byte, kLaneBytes> kZeros{};
    return ~crc32c_by_table(kZeros, ~remainder);
  }

  std::array<std::array<std::uint32_t, 256>, 4> tables_{};
};

std::uint64_t word_at(const std::byte* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t sum_lanes(std::span<const std::byte> bytes,
                                                          std::uint32_t before) noexcept {
  static const LaneShift shift;
  std::uint64_t crc = ~before;
  for (; bytes.size() >= kLanes * kLaneBytes; bytes = bytes.subspan(kLanes * kLaneBytes)) {
    // All begin with zero, so that the next ones need not wait until these are put together.
    std::uint64_t lanes[kLanes] = {};
    for (std::size_t i = 0; i < kLaneBytes; i += sizeof(std::uint64_t)) {
      const std::byte* const at = bytes.data() + i;
      lanes[0] = __builtin_ia32_crc32di(lanes[0], word_at(at));
      lanes[1] = __builtin_ia32_crc32di(lanes[1], word_at(at + kLaneBytes));
      lanes[2] = __builtin_ia32_crc32di(lanes[2], word_at(at + 2 * kLaneBytes));
    }
    for (const std::uint64_t lane : lanes) crc = shift(static_cast<std::uint32_t>(crc)) ^ lane;
  }
  for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
    crc = __builtin_ia32_crc32di(crc, word_at(bytes.data()));
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (const std::byte byte : bytes) {
    rest = __builtin_ia32_crc32qi(rest, std::to_integer<std::uint8_t>(byte));
  }
  return ~rest;
}

}  // namespace

bool has_crc_instruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }

std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, std::byte* out,
                                    std::uint32_t before) noexcept {
  if (out == nullptr) return sum_lanes(bytes, before);
  while (!bytes.empty()) {
    const auto stride = bytes.first(std::min(bytes.size(), kStrideBytes));
    before = sum_lanes(stride, before);
    out = std::ranges::copy(stride, out).out;
    bytes = bytes.subspan(stride.size());
  }
  return before;
}

}  // namespace ballast::wire

#endif
