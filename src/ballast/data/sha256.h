#pragma once
// SHA-256 of a stream of bytes.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ballast::data {

class Sha256 {
 public:
  Sha256();
  ~Sha256();

  void update(std::span<const std::uint8_t> bytes);

  // The digest of everything so far in lower-case hexadecimal. Call once, last.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace ballast::data
