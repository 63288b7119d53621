#pragma once
// Private to kernels/: brings rows from host memory to the device while that works on something
// else. They pass through a ring of small pinned buffers on a stream of their own; nobody waits but
// for a buffer of the ring.
//
// Thread-safety: whoever uses it holds the device's Turn.

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace ballast::kernels::cuda {

// A mark in a stream, which others can wait for.
class StreamMark {
 public:
  StreamMark();
  void record(cudaStream_t stream) const;
  void hold_back(cudaStream_t stream) const;  // what is queued there from now on, until the mark
  void wait() const;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

class Staging {
 public:
  Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  // Where rows go, and when.
  struct Target {
    float* values;
    const StreamMark& is_free;  // until then the memory is in use
    cudaStream_t user;          // what is queued there from now on finds the values
  };

  // Queues the copy; the caller's memory may change when this returns. False if a value is not
  // finite, unless nobody wants to know: then anything may be in the target.
  bool copy(std::span<const float> from, const Target& target, bool is_checked);

 private:
  static constexpr std::size_t kBuffers = 4;
  static constexpr std::size_t kValues = std::size_t{1} << 17;  // of a buffer, half a MiB

  bool copy_through_ring(std::span<const float> from, float* to, bool is_checked);
  void queue(std::span<const float> from, float* to) const;

  cudaStream_t stream_ = nullptr;
  float* pinned_ = nullptr;
  std::array<StreamMark, kBuffers> is_sent_;
  StreamMark is_there_;
  std::size_t next_ = 0;
};

}  // namespace ballast::kernels::cuda
