#include "ballast/data/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "ballast/base/check.h"

namespace ballast::data {

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  BALLAST_CHECK(EVP_DigestInit_ex(context_->state.get(), EVP_sha256(), nullptr) == 1,
                "OpenSSL has no SHA-256");
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::uint8_t> bytes) {
  BALLAST_CHECK(EVP_DigestUpdate(context_->state.get(), bytes.data(), bytes.size()) == 1,
                "SHA-256 failed");
}

std::string Sha256::finish() {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  BALLAST_CHECK(EVP_DigestFinal_ex(context_->state.get(), digest.data(), &length) == 1,
                "SHA-256 failed");
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace ballast::data
