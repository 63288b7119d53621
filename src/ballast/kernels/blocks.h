#pragma once
// The fixed partition of coordinates that every threaded kernel uses. It depends on the dimension
// alone, so partial sums per block, added in block order, never depend on the number of threads.

#include <algorithm>
#include <cstddef>

namespace ballast::kernels {

class Blocks {
 public:
  static constexpr std::size_t kCountMax = 64;

  explicit Blocks(std::size_t dim) noexcept : dim_(dim), size_(size_for(dim)) {}

  std::size_t count() const noexcept { return (dim_ + size_ - 1) / size_; }
  std::size_t begin(std::size_t block) const noexcept { return block * size_; }
  std::size_t end(std::size_t block) const noexcept { return std::min(dim_, (block + 1) * size_); }

 private:
  static constexpr std::size_t kGranule = 4096;

  static std::size_t size_for(std::size_t dim) noexcept {
    const std::size_t even_share = (dim + kCountMax - 1) / kCountMax;
    return std::max(kGranule, (even_share + kGranule - 1) / kGranule * kGranule);
  }

  std::size_t dim_;
  std::size_t size_;
};

}  // namespace ballast::kernels
