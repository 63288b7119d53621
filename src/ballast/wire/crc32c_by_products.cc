// The checksum by carry-less products of 64 bytes at a time (AVX-512 with VPCLMULQDQ).
//
// A message is a polynomial over the field of two elements, its checksum the remainder by another
// one, P. A block of it that is followed by n bits counts x^n times as much, so it may be replaced
// by anything with the same remainder that is added to a later block: its two halves of 64 bits,
// each times a power of x modulo P. So four sums of 64 bytes run through the message; what they
// hold at its end has the remainder of the whole. (Gopal et al., Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction, Intel 2009, here for reversed bits.)

#include <cstring>

#include "ballast/wire/crc32c_ways.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define BALLAST_WIDE_PRODUCTS __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))

namespace ballast::wire {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kBlocks = 4;  // a product takes four cycles, and two begin in one
constexpr std::size_t kStepBytes = kBlocks * kBlockBytes;

// x^power modulo P, bits reversed, as a factor: the product of two reversed numbers is one bit
// short.
constexpr std::uint64_t factor(std::size_t power) {
  std::uint64_t remainder = 0x8000'0000;  // 1
  for (; power > 0; --power) {
    remainder = (remainder >> 1) ^ ((remainder & 1u) != 0 ? kPolynomial : 0u);
  }
  return remainder << 1;
}

// What moves a block by so many bytes. In reversed order the first half comes first in memory and
// has the higher powers; each product is of 96 bits, 32 of which its place already counts.
template <std::size_t kBytes>
BALLAST_WIDE_PRODUCTS __m512i mover() noexcept {
  constexpr std::uint64_t kFirst = factor(8 * kBytes + 32), kSecond = factor(8 * kBytes - 32);
  return _mm512_broadcast_i32x4(
      _mm_set_epi64x(static_cast<std::int64_t>(kSecond), static_cast<std::int64_t>(kFirst)));
}

// The block, moved, and another one.
BALLAST_WIDE_PRODUCTS inline __m512i moved_onto(__m512i block, __m512i other,
                                                __m512i mover) noexcept {
  constexpr int kFirstHalves = 0x00, kSecondHalves = 0x11, kSumOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(block, mover, kFirstHalves),
                                   _mm512_clmulepi64_epi128(block, mover, kSecondHalves), other,
                                   kSumOfThree);
}

template <bool kCopies>
BALLAST_WIDE_PRODUCTS inline __m512i load(const std::byte* bytes, std::byte* out,
                                          std::size_t at) noexcept {
  const __m512i block = _mm512_loadu_si512(bytes + at);
  if constexpr (kCopies) _mm512_storeu_si512(out + at, block);
  return block;
}

BALLAST_WIDE_PRODUCTS std::uint64_t remainder_of(__m512i block) noexcept {
  std::uint64_t words[kBlockBytes / sizeof(std::uint64_t)];
  _mm512_storeu_si512(words, block);
  std::uint64_t crc = 0;
  for (const std::uint64_t word : words) crc = _mm_crc32_u64(crc, word);
  return crc;
}

// Whole steps of the message, of which there is at least one.
template <bool kCopies>
BALLAST_WIDE_PRODUCTS std::uint64_t sum_steps(const std::byte* bytes, std::byte* out,
                                              std::size_t count, std::uint32_t crc) noexcept {
  __m512i sums[kBlocks];
  for (std::size_t i = 0; i < kBlocks; ++i) {
    sums[i] = load<kCopies>(bytes, out, i * kBlockBytes);
  }
  sums[0] =
      _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
  const __m512i by_a_step = mover<kStepBytes>();
  for (std::size_t step = 1; step < count; ++step) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::size_t at = step * kStepBytes + i * kBlockBytes;
      sums[i] = moved_onto(sums[i], load<kCopies>(bytes, out, at), by_a_step);
    }
  }
  const __m512i by_a_block = mover<kBlockBytes>();
  __m512i sum = sums[0];
  for (std::size_t i = 1; i < kBlocks; ++i) sum = moved_onto(sum, sums[i], by_a_block);
  return remainder_of(sum);
}

template <bool kCopies>
BALLAST_WIDE_PRODUCTS std::uint32_t sum_blocks(const std::byte* bytes, std::byte* out,
                                               std::size_t size, std::uint32_t before) noexcept {
  std::uint64_t crc = ~before;
  const std::size_t whole = size / kStepBytes * kStepBytes;
  if (whole > 0) {
    crc = sum_steps<kCopies>(bytes, out, size / kStepBytes, static_cast<std::uint32_t>(crc));
  }
  if constexpr (kCopies) std::memcpy(out + whole, bytes + whole, size - whole);
  std::size_t at = whole;
  for (; at + sizeof(std::uint64_t) <= size; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (; at < size; ++at) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(bytes[at]));
  return ~rest;
}

}  // namespace

bool has_wide_products() noexcept {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0 &&
         __builtin_cpu_supports("sse4.2") != 0;
}

std::uint32_t crc32c_by_products(std::span<const std::byte> bytes, std::byte* out,
                                 std::uint32_t before) noexcept {
  if (bytes.empty()) return before;
  return out == nullptr ? sum_blocks<false>(bytes.data(), nullptr, bytes.size(), before)
                        : sum_blocks<true>(bytes.data(), out, bytes.size(), before);
}

}  // namespace ballast::wire

#undef BALLAST_WIDE_PRODUCTS

#endif
