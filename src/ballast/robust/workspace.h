#pragma once
// Scratch memory of the rules, owned by the caller and used again from call to call: after the
// first calls of a size nothing is allocated any more.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "ballast/base/aligned.h"
#include "ballast/kernels/weights.h"

namespace ballast::robust {

class Workspace {
 public:
  // Memory for count values, uninitialised, valid until the next reset().
  template <typename T>
  std::span<T> take(std::size_t count) {
    return {reinterpret_cast<T*>(take_bytes(count * sizeof(T))), count};
  }

  // The same, every value set to `value`.
  template <typename T>
  std::span<T> take(std::size_t count, T value) {
    const std::span<T> taken = take<T>(count);
    std::fill(taken.begin(), taken.end(), value);
    return taken;
  }

  // A list of weights to assign to, valid until the next reset(). It keeps its memory.
  kernels::Weights& take_weights();

  // Takes everything back. Joins what was allocated in pieces into one piece for the next time.
  void reset();

 private:
  std::byte* take_bytes(std::size_t bytes);

  std::vector<AlignedVector<std::byte>> pieces_;
  std::size_t used_ = 0;  // of the last piece
  std::deque<kernels::Weights> weights_;
  std::size_t weights_used_ = 0;
};

}  // namespace ballast::robust
