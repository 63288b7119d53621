#include "ballast/data/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace ballast::data {
namespace {

std::string sha256_in_pieces(std::string_view text, std::size_t piece_bytes) {
  Sha256 digest;
  for (; !text.empty(); text.remove_prefix(std::min(piece_bytes, text.size()))) {
    const std::string_view piece = text.substr(0, piece_bytes);
    digest.update(std::vector<std::uint8_t>(piece.begin(), piece.end()));
  }
  return digest.finish();
}

// The examples of FIPS 180-4.
TEST(Sha256, MatchesThePublishedExamples) {
  EXPECT_EQ(sha256_in_pieces("", 1),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_in_pieces("abc", 3),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_in_pieces("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 7),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

}  // namespace
}  // namespace ballast::data
