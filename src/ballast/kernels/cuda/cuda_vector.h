#pragma once
// Private to kernels/: a vector in the memory of the device. It may also stand for memory of the
// device that belongs to somebody else, such as a tensor of another library.

#include <span>

#include "ballast/base/check.h"
#include "ballast/kernels/cuda/device.h"
#include "ballast/kernels/vector.h"

namespace ballast::kernels::cuda {

class CudaVector final : public Vector {
 public:
  CudaVector(DevicePointer device, std::size_t size)
      : device_(std::move(device)), own_(size), values_(own_.data()), size_(size) {}
  CudaVector(DevicePointer device, std::span<float> values)
      : device_(std::move(device)), values_(values.data()), size_(values.size()) {}

  std::size_t size() const noexcept override { return size_; }
  void read(std::span<float> to) const override {
    BALLAST_CHECK(to.size() == size_, "read() needs room for every value");
    copy(to.data(), values_);
  }
  void write(std::span<const float> from) override {
    BALLAST_CHECK(from.size() == size_, "write() needs a value for each place");
    copy(values_, from.data());
  }
  std::span<const float> host_view() const noexcept override { return {}; }

  // Only memory of the device can be borrowed.
  bool borrow(std::span<float> values) override {
    const Turn turn(device_->mutex());
    if (values.empty() || !is_on_device(values.data())) return false;
    device_->finish();  // what uses the memory let go
    own_ = {};
    values_ = values.data();
    size_ = values.size();
    return true;
  }

  float* data() const noexcept { return values_; }

 private:
  void copy(float* to, const float* from) const {
    const Turn turn(device_->mutex());
    // One that was borrowed is read into itself: by callers that do not know that it could be.
    if (to != from) {
      check(cudaMemcpyAsync(to, from, size_ * sizeof(float), cudaMemcpyDefault, device_->stream()),
            "copy a vector");
    }
    device_->finish();
  }

  DevicePointer device_;
  DeviceArray<float> own_;
  float* values_;
  std::size_t size_;
};

}  // namespace ballast::kernels::cuda
