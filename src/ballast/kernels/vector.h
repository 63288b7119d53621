#pragma once
// A vector of floats in the memory of the backend that made it: the host's or a device's. Rules and
// optimizers hand vectors from one call of a backend to the next and never look inside; whoever
// needs the values on the host says so by read(), which is where a device pays for the transfer.

#include <cstddef>
#include <span>

namespace ballast::kernels {

class Vector {
 public:
  Vector() = default;
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  virtual ~Vector() = default;

  virtual std::size_t size() const noexcept = 0;

  // Copies all values to, or from, host memory. Requires: a span of size() values.
  virtual void read(std::span<float> to) const = 0;
  virtual void write(std::span<const float> from) = 0;

  // The values themselves where they lie in host memory, else empty. Valid while the vector lives
  // and is not made to borrow.
  virtual std::span<const float> host_view() const noexcept = 0;

  // From now on stands for these values in host memory, which outlive its use, and lets go of its
  // own memory: what is computed into it is computed there. False, and nothing has changed, where a
  // backend cannot work in host memory; the caller then uses a vector of the backend and read().
  virtual bool borrow(std::span<float> values) = 0;
};

}  // namespace ballast::kernels
