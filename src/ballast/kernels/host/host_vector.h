#pragma once
// Private to kernels/: a vector in host memory, of its own or borrowed.

#include <algorithm>
#include <span>

#include "ballast/base/aligned.h"
#include "ballast/base/check.h"
#include "ballast/kernels/vector.h"

namespace ballast::kernels::host {

class HostVector final : public Vector {
 public:
  explicit HostVector(std::size_t size) : own_(size), values_(own_) {}
  explicit HostVector(std::span<float> values) : values_(values) {}

  std::size_t size() const noexcept override { return values_.size(); }
  void read(std::span<float> to) const override {
    BALLAST_CHECK(to.size() == size(), "read() needs room for every value");
    std::ranges::copy(values_, to.begin());
  }
  void write(std::span<const float> from) override {
    BALLAST_CHECK(from.size() == size(), "write() needs a value for each place");
    std::ranges::copy(from, values_.begin());
  }
  std::span<const float> host_view() const noexcept override { return values_; }
  bool borrow(std::span<float> values) override {
    own_ = {};
    values_ = values;
    return true;
  }

  std::span<float> values() noexcept { return values_; }
  std::span<const float> values() const noexcept { return values_; }

  // Memory of its own for so many values.
  void resize(std::size_t size) {
    own_.resize(size);
    values_ = own_;
  }

 private:
  AlignedVector<float> own_;
  std::span<float> values_;
};

}  // namespace ballast::kernels::host
