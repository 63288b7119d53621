#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/cuda_runtime_api.h"

// A place in a stream.
struct Mark {
  cudaStream_t stream = nullptr;
  bool is_reached = false;
};

struct CUstream_st {
  std::deque<std::function<void()>> work;
};

struct CUevent_st {
  std::shared_ptr<Mark> last;  // null: never recorded
};

namespace emulated_cuda {
namespace {

constexpr std::size_t kMemory = std::size_t{8} << 30;
constexpr std::size_t kSharedMemory = std::size_t{227} << 10;
constexpr std::size_t kSharedUnasked = std::size_t{48} << 10;
constexpr std::align_val_t kAlignment{256};

struct Piece {
  std::size_t bytes;
  cudaMemoryType type;
};

// Of the one device; all calls take turns.
struct Device {
  std::recursive_mutex mutex;
  std::map<const std::byte*, Piece> memory;
  std::size_t taken = 0;
  std::set<cudaStream_t> streams;
  CUstream_st legacy_stream;
  std::map<const void*, std::size_t> shared_memory;  // by kernel
  cudaError_t last_error = cudaSuccess;
};

Device& device() {
  static Device* const device = new Device;  // streams may be used to the very end
  return *device;
}

using Turn = std::scoped_lock<std::recursive_mutex>;

CUstream_st& stream_of(cudaStream_t stream) {
  return stream == nullptr ? device().legacy_stream : *stream;
}

bool do_next(CUstream_st& stream) {
  if (stream.work.empty()) return false;
  const auto work = std::move(stream.work.front());
  stream.work.pop_front();
  work();
  return true;
}

void finish(CUstream_st& stream) {
  while (do_next(stream)) {
  }
}

void finish_all() {
  Device& d = device();
  finish(d.legacy_stream);
  for (const cudaStream_t stream : d.streams) finish(*stream);
}

void reach(const Mark& mark) {
  while (!mark.is_reached && do_next(stream_of(mark.stream))) {
  }
}

// Null where it is the program's own.
const Piece* piece_at(const void* pointer) {
  const auto& memory = device().memory;
  const auto* const place = static_cast<const std::byte*>(pointer);
  auto after = memory.upper_bound(place);
  if (after == memory.begin()) return nullptr;
  const auto& [begin, piece] = *--after;
  return place < begin + piece.bytes ? &piece : nullptr;
}

cudaError_t take(void** memory, std::size_t bytes, cudaMemoryType type) {
  Device& d = device();
  const Turn turn(d.mutex);
  void* const taken =
      bytes > kMemory - d.taken ? nullptr : ::operator new(bytes, kAlignment, std::nothrow);
  if (taken == nullptr) return d.last_error = cudaErrorMemoryAllocation;
  std::memset(taken, 0xFF, bytes);  // floats that are not numbers
  d.memory[static_cast<std::byte*>(taken)] = {bytes, type};
  d.taken += bytes;
  *memory = taken;
  return cudaSuccess;
}

// Waits for everything, as CUDA does.
cudaError_t give_back(void* memory) {
  Device& d = device();
  const Turn turn(d.mutex);
  if (memory == nullptr) return cudaSuccess;
  finish_all();
  const auto piece = d.memory.find(static_cast<std::byte*>(memory));
  if (piece == d.memory.end()) return d.last_error = cudaErrorInvalidValue;
  d.taken -= piece->second.bytes;
  d.memory.erase(piece);
  ::operator delete(memory, kAlignment);
  return cudaSuccess;
}

}  // namespace

void queue(cudaStream_t stream, std::function<void()> work) {
  const Turn turn(device().mutex);
  stream_of(stream).work.push_back(std::move(work));
}

bool may_start(const void* kernel, const Shape& shape) {
  Device& d = device();
  const Turn turn(d.mutex);
  const auto asked = d.shared_memory.find(kernel);
  const std::size_t shared = asked == d.shared_memory.end() ? kSharedUnasked : asked->second;
  const unsigned threads = shape.threads.x * shape.threads.y;
  const bool may = threads >= 1 && threads <= kThreadsMax && shape.blocks.x >= 1 &&
                   shape.blocks.x <= 0x7FFFFFFFu && shape.blocks.y >= 1 &&
                   shape.blocks.y <= 0xFFFFu && shape.shared_bytes <= shared;
  if (!may) d.last_error = cudaErrorInvalidValue;
  return may;
}

void allow_shared_memory(const void* kernel, std::size_t bytes) {
  Device& d = device();
  const Turn turn(d.mutex);
  if (bytes <= kSharedMemory) d.shared_memory[kernel] = bytes;
}

}  // namespace emulated_cuda

using emulated_cuda::device, emulated_cuda::Device, emulated_cuda::finish, emulated_cuda::give_back;
using emulated_cuda::Piece, emulated_cuda::piece_at, emulated_cuda::reach, emulated_cuda::stream_of;
using emulated_cuda::take, emulated_cuda::Turn;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    default:
      return "invalid argument";
  }
}

cudaError_t cudaGetLastError() {
  Device& d = device();
  const Turn turn(d.mutex);
  return std::exchange(d.last_error, cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 9;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return take(memory, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaFree(void* memory) { return give_back(memory); }
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return take(memory, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* memory) { return give_back(memory); }

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Turn turn(device().mutex);
  const Piece* const piece = piece_at(pointer);
  attributes->type = piece == nullptr ? cudaMemoryTypeUnregistered : piece->type;
  return cudaSuccess;
}

// Whoever copies from here waits for nobody: only streams that ask for it wait for the legacy one.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  Device& d = device();
  const Turn turn(d.mutex);
  finish(d.legacy_stream);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

// As CUDA promises: memory of the program itself, which the device cannot reach, is read before the
// call returns, and is written before it returns; other memory when the stream comes to it.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  const Turn turn(device().mutex);
  CUstream_st& queue = stream_of(stream);
  if (piece_at(to) == nullptr) {
    finish(queue);
    std::memcpy(to, from, bytes);
  } else if (piece_at(from) == nullptr) {
    const auto* const first = static_cast<const std::byte*>(from);
    queue.work.emplace_back([to, values = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, values.data(), values.size());
    });
  } else {
    queue.work.emplace_back([to, from, bytes] { std::memcpy(to, from, bytes); });
  }
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Turn turn(device().mutex);
  *stream = *device().streams.insert(new CUstream_st).first;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Turn turn(device().mutex);
  finish(*stream);
  device().streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Turn turn(device().mutex);
  finish(stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Turn turn(device().mutex);
  if (event->last == nullptr) return cudaSuccess;
  stream_of(stream).work.emplace_back([mark = event->last] { reach(*mark); });
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Turn turn(device().mutex);
  const auto mark = std::make_shared<Mark>(Mark{.stream = stream});
  event->last = mark;
  stream_of(stream).work.emplace_back([mark] { mark->is_reached = true; });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Turn turn(device().mutex);
  if (event->last != nullptr) reach(*event->last);
  return cudaSuccess;
}
