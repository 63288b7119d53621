#pragma once
// Private to kernels/: the one device of a process, its stream and its memory. All work of all
// tables, vectors and backends is queued on one stream, in the order of the calls, so that they may
// use each other's.
//
// Where the device has no memory left a call throws OutOfDeviceMemory, as the host's would, and
// tables and vectors are as they were. Any other failing call of CUDA after the device was opened,
// such as a lost device, ends the program with CUDA's words.
//
// Thread-safety: whoever queues work or looks at what lies here holds a Turn.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/kernels/cuda/staging.h"

namespace ballast::kernels::cuda {

// Ends the program if a call of CUDA failed.
void check(cudaError_t error, const char* what);

class OutOfDeviceMemory final : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "the CUDA device has not enough memory"; }
};

// Memory of the device, or of the host where the device can read and write it. Never null but for 0
// bytes. Throws OutOfDeviceMemory.
void* take_device_memory(std::size_t bytes);
void* take_shared_memory(std::size_t bytes);

class Device {
 public:
  // The device of this process; the error says why there is none.
  static Result<std::shared_ptr<Device>> open();

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  std::mutex& mutex() noexcept { return mutex_; }
  cudaStream_t stream() const noexcept { return stream_; }

  // Queues what follows on this stream, after what was queued so far; null: the device's own.
  void use_stream(cudaStream_t stream);

  // Waits until everything queued is done.
  void finish() const { check(cudaStreamSynchronize(stream_), "wait for the device"); }

  // Host memory that the device writes to: so many facts, and the mark that a value was not finite.
  // Growing waits for the device.
  std::span<double> facts(std::size_t count);
  std::uint32_t* is_bad() noexcept { return is_bad_; }

  // Runs launch(is_bad) and waits; whether all values were finite.
  template <typename Launch>
  bool all_finite(const Launch& launch) {
    *is_bad_ = 0;
    launch(is_bad_);
    check(cudaGetLastError(), "check values");
    finish();
    return *is_bad_ == 0;
  }

  // Room on the device for the partial sums of a call.
  double* partial(std::size_t count);

  Staging& staging() noexcept { return *staging_; }

 private:
  Device() = default;

  std::mutex mutex_;
  cudaStream_t own_stream_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t switched_ = nullptr;
  double* facts_ = nullptr;
  std::size_t facts_size_ = 0;
  std::uint32_t* is_bad_ = nullptr;
  double* partial_ = nullptr;
  std::size_t partial_size_ = 0;
  std::unique_ptr<Staging> staging_;
};

using DevicePointer = std::shared_ptr<Device>;
using Turn = std::scoped_lock<std::mutex>;

// Memory on the device.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    memory_.reset(static_cast<T*>(take_device_memory(size * sizeof(T))));
  }
  T* data() const noexcept { return memory_.get(); }
  std::size_t size() const noexcept { return size_; }
  bool is_empty() const noexcept { return memory_ == nullptr; }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { cudaFree(memory); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_ = 0;
};

// Numbers in memory of the host that the device writes to; zeros at first.
class SharedNumbers {
 public:
  explicit SharedNumbers(std::size_t size);
  std::uint32_t* data() const noexcept { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::uint32_t* memory) const noexcept { cudaFreeHost(memory); }
  };
  std::unique_ptr<std::uint32_t, Free> memory_;
};

// Where a pointer points to.
enum class Place { kHost, kPinned, kDevice };  // kPinned: the host's, which the device reads itself
Place place_of(const void* pointer);
inline bool is_on_device(const void* pointer) { return place_of(pointer) == Place::kDevice; }

// An array of 8-byte words on the device that follows one on the host: what has changed since the
// last time travels with a launch, so that nobody waits for a transfer.
class Mirror {
 public:
  // Room for so many words. Waits for the device when it grows.
  void reserve(std::size_t size);

  // Brings the first words up to date. Requires: room.
  const std::uint64_t* update(std::span<const std::uint64_t> words, cudaStream_t stream);

 private:
  DeviceArray<std::uint64_t> words_;
  std::vector<std::uint64_t> before_;  // what the device holds
};

}  // namespace ballast::kernels::cuda
