#include "ballast/transport/grpc/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>

#include "ballast/base/check.h"

namespace ballast::transport {

Result<wire::Mac> make_ticket_mac() {
  std::array<unsigned char, 32> key{};
  if (RAND_bytes(key.data(), key.size()) != 1) return io_error("there are no random numbers");
  return [key](std::span<const std::byte> text) {
    wire::MacBytes code{};
    unsigned size = code.size();
    const unsigned char* done = HMAC(
        EVP_sha256(), key.data(), key.size(), reinterpret_cast<const unsigned char*>(text.data()),
        text.size(), reinterpret_cast<unsigned char*>(code.data()), &size);
    BALLAST_CHECK(done != nullptr && size == code.size(), "SHA-256 is always there");
    return code;
  };
}

}  // namespace ballast::transport
