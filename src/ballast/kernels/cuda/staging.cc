#include "ballast/kernels/cuda/staging.h"

#include <algorithm>

#include "ballast/kernels/cuda/device.h"
#include "ballast/kernels/finite.h"

namespace ballast::kernels::cuda {

StreamMark::StreamMark() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "make an event");
  event_.reset(event);
}

void StreamMark::record(cudaStream_t stream) const {
  check(cudaEventRecord(event_.get(), stream), "mark a place in a stream");
}

void StreamMark::hold_back(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, event_.get(), 0), "order streams");
}

void StreamMark::wait() const { check(cudaEventSynchronize(event_.get()), "wait for a copy"); }

Staging::Staging()
    : pinned_(static_cast<float*>(take_shared_memory(kBuffers * kValues * sizeof(float)))) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
}

Staging::~Staging() {
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  cudaFreeHost(pinned_);
}

void Staging::queue(std::span<const float> from, float* to) const {
  check(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream_),
        "copy a row to the device");
}

bool Staging::copy_through_ring(std::span<const float> from, float* to, bool is_checked) {
  for (std::size_t start = 0; start < from.size(); start += kValues) {
    const std::span<const float> part = from.subspan(start, std::min(kValues, from.size() - start));
    const std::span<float> buffer(pinned_ + next_ * kValues, part.size());
    is_sent_[next_].wait();
    std::ranges::copy(part, buffer.begin());
    if (!is_checked && !all_finite(std::span<const float>(buffer))) return false;
    queue(buffer, to + start);
    is_sent_[next_].record(stream_);
    next_ = (next_ + 1) % kBuffers;
  }
  return true;
}

// Also where a value is refused, what was queued until then is held back for: somebody else may
// use the target next.
bool Staging::copy(std::span<const float> from, const Target& target, bool is_checked) {
  target.is_free.hold_back(stream_);
  bool is_finite = true;
  const bool is_pinned = place_of(from.data()) == Place::kPinned;
  if (is_pinned) {
    queue(from, target.values);
  } else {
    is_finite = copy_through_ring(from, target.values, is_checked);
  }
  is_there_.record(stream_);
  is_there_.hold_back(target.user);
  if (is_pinned) {
    is_finite = is_checked || all_finite(from);
    is_there_.wait();
  }
  return is_finite;
}

}  // namespace ballast::kernels::cuda
