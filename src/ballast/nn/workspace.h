#pragma once
// Memory that gradient() and evaluate() compute in. It grows to the largest network and batch it
// has seen and is then reused as it is.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/base/aligned.h"

namespace ballast::nn {

class NetworkWorkspace {
 public:
  // At least `count` values with what the last user left in them, zero at first.
  std::span<float> floats(std::size_t count) {
    if (floats_.size() < count) floats_.resize(count);
    return floats_;
  }
  std::span<std::int32_t> integers(std::size_t count) {
    if (integers_.size() < count) integers_.resize(count);
    return integers_;
  }

 private:
  AlignedVector<float> floats_;
  AlignedVector<std::int32_t> integers_;
};

}  // namespace ballast::nn
