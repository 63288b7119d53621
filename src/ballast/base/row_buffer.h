#pragma once
// Memory for one row, as a table keeps it: on a cache line, and a few lines into its allocation,
// because rows that lie a multiple of the page size apart compete for the same few lines of the
// first-level cache.
//
// What is filled elsewhere, by a receiver for example, moves into a table in host memory without a
// copy.

#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "ballast/base/aligned.h"

namespace ballast {

class RowBuffer {
 public:
  RowBuffer() = default;

  // Buffers of different numbers start at different lines, as far as there are any. The values are
  // not set: pages to which nobody writes are never touched.
  RowBuffer(std::size_t dim, std::size_t number) : start_(stagger(number)), dim_(dim) {
    const std::size_t bytes = (start_ + dim) * sizeof(float);
    memory_.reset(static_cast<float*>(::operator new (bytes, std::align_val_t{kCacheLineBytes})));
  }

  std::span<float> values() noexcept { return {memory_.get() + start_, dim_}; }
  std::span<const float> values() const noexcept { return {memory_.get() + start_, dim_}; }
  bool is_empty() const noexcept { return memory_ == nullptr; }

 private:
  struct Free {
    void operator()(float* memory) const noexcept {
      ::operator delete (memory, std::align_val_t{kCacheLineBytes});
    }
  };

  static constexpr std::size_t kStaggerLines = 5;
  static constexpr std::size_t kLineFloats = kCacheLineBytes / sizeof(float);
  static constexpr std::size_t kPageLines = 64;
  static std::size_t stagger(std::size_t number) noexcept {
    return number * kStaggerLines % kPageLines * kLineFloats;
  }

  std::unique_ptr<float, Free> memory_;
  std::size_t start_ = 0;
  std::size_t dim_ = 0;
};

}  // namespace ballast
