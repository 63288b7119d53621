// Any bytes are either refused in one line or the certificate of somebody with a valid name. The
// bytes are tried as they are and as the content of a PEM text, because a fuzzer that has to get
// base64 right seldom changes what is inside.

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/identity/name.h"
#include "ballast/identity/peer.h"

namespace {

void parse(std::string_view pem) {
  const auto peer = ballast::identity::parse_peer(pem);
  BALLAST_CHECK(ERR_peek_error() == 0, "the error queue stays as it was");
  if (!peer) {
    BALLAST_CHECK(peer.error().message.find('\n') == std::string::npos, "errors have one line");
    return;
  }
  BALLAST_CHECK(ballast::identity::is_name(peer->name), "names are checked");
  BALLAST_CHECK(ballast::identity::is_serial(peer->serial.hex), "serial numbers are checked");
}

std::string to_pem(const std::uint8_t* data, std::size_t size) {
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  constexpr std::size_t kBytesPerLine = 48;
  for (std::size_t at = 0; at < size; at += kBytesPerLine) {
    const std::size_t count = std::min(kBytesPerLine, size - at);
    std::uint8_t line[kBytesPerLine / 3 * 4 + 1];
    const int digits = EVP_EncodeBlock(line, data + at, static_cast<int>(count));
    pem.append(reinterpret_cast<const char*>(line), static_cast<std::size_t>(digits)) += '\n';
  }
  return pem + "-----END CERTIFICATE-----\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse(std::string_view(reinterpret_cast<const char*>(data), size));
  parse(to_pem(data, size));
  return 0;
}
