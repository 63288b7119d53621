#pragma once
// XXH3 checksums. They find what rots or is torn, at the speed of memory; they do not keep out
// somebody who may write to the folder.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ballast::store {

// 128 bits over bytes that come in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::span<const std::byte> bytes) noexcept;
  std::string text() const;  // 32 hexadecimal digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string checksum_text(std::span<const std::byte> bytes);

// What the journal remembers of the values of an update.
std::uint64_t checksum_of(std::span<const float> values) noexcept;

}  // namespace ballast::store
