#pragma once
// A gradient that the server computes itself, on data that no worker has: what some methods judge
// updates by. The data and the model behind it belong to whoever makes one.
//
// Thread-safety: none; the server's thread calls it.

#include <cstdint>
#include <span>

#include "ballast/base/error.h"

namespace ballast::server {

class ServerGradient {
 public:
  virtual ~ServerGradient() = default;

  // Writes the gradient at the model, on the sample that `draw` numbers. A gradient that is not
  // finite is an error.
  // Requires: both spans as long as the model.
  // Determinism: a function of the arguments alone.
  virtual Status gradient(std::span<const float> model, std::uint64_t draw,
                          std::span<float> out) = 0;
};

}  // namespace ballast::server
