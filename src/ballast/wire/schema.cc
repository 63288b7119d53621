#include "ballast/wire/schema.h"

namespace ballast::wire {
namespace {

class Fnv1a {
 public:
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      add_byte(static_cast<unsigned char>(number >> shift));
  }
  // The length goes first, so that no two lists of names read alike.
  void add(const std::string& text) {
    add(text.size());
    for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x0000'0100'0000'01B3u; }

  std::uint64_t value_ = 0xCBF2'9CE4'8422'2325u;
};

}  // namespace

std::uint64_t schema_hash(std::span<const TensorSchema> tensors) {
  Fnv1a hash;
  hash.add(tensors.size());
  for (const TensorSchema& tensor : tensors) {
    hash.add(tensor.name);
    hash.add(tensor.shape.size());
    for (const std::uint64_t extent : tensor.shape) hash.add(extent);
  }
  return hash.value();
}

}  // namespace ballast::wire
