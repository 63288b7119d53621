#pragma once
// Where a call's arrays lie and who computes on them there: the host, or the CUDA device.
//
// Streams. Work on the device is queued on the stream that the caller names, which is the one its
// own work is queued on: what it has queued before is seen, what it queues afterwards sees the
// result, and memory that it lets go of meanwhile is not given to others of that stream too early.
// The device has one stream at a time for the whole process (kernels/cuda/device.h), so a call has
// the device for itself from naming the stream to going back to the library's own, which no caller
// can destroy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "ballast/kernels/backend.h"
#include "python/src/calls.h"

namespace ballast::python {

struct Place {
  std::shared_ptr<kernels::Backend> backend;
  bool is_cuda = false;
};

// "cpu" or "cuda". Raises where there is no such device, and in the child of a process that has
// used it: CUDA does not survive a fork. Requires: the interpreter's lock.
Place find_place(const std::string& device, std::size_t threads);

// A stream as DLPack numbers them; 1 is CUDA's default stream, 0 the library's own.
using Stream = std::uintptr_t;

// A stream or an event as CUDA has it, which Python knows as a number.
inline void* handle_of(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): it was a pointer
}

std::mutex& cuda_turn();

// Runs the work there. Requires: a thread without the interpreter's lock.
template <typename Work>
void at_place(const Place& place, Stream stream, Work&& work) {
  if (!place.is_cuda) return work();
  struct Back {
    kernels::Backend& backend;
    ~Back() { backend.use_stream(nullptr); }
  };
  const std::lock_guard turn(cuda_turn());
  place.backend->use_stream(handle_of(stream));
  const Back back{*place.backend};
  work();
}

// The same from a thread that has the interpreter's lock, which is given back meanwhile. Requires:
// the work does not touch Python.
template <typename Work>
void run_at(const Place& place, Stream stream, Work&& work) {
  if (!place.is_cuda) {
    without_lock(std::forward<Work>(work));
    return;
  }
  const WithoutLock released;
  at_place(place, stream, std::forward<Work>(work));
}

using ReadArray = nanobind::ndarray<const float, nanobind::ro>;
using WriteArray = nanobind::ndarray<float>;

// A float32 array: a NumPy array, or the DLPack capsule of one at that place. Raises for others; a
// wrong pointer would end the process.
ReadArray read_array(nanobind::handle object, const Place& place);
WriteArray write_array(nanobind::handle object, const Place& place);

// The values of one contiguous vector.
std::span<const float> vector_of(const ReadArray& array);
std::span<float> vector_of(const WriteArray& array);

}  // namespace ballast::python
