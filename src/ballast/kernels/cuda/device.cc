#include "ballast/kernels/cuda/device.h"

#include <fmt/core.h>

#include <algorithm>

#include "ballast/base/check.h"
#include "ballast/kernels/cuda/launch.h"

namespace ballast::kernels::cuda {
namespace {

constexpr int kDevice = 0;
constexpr int kMajorMin = 8;  // the oldest devices that the kernels are built for

tl::unexpected<Error> no_device(cudaError_t error) {
  return unsupported(fmt::format("no CUDA device can be used: {}", cudaGetErrorString(error)));
}

}  // namespace

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  const std::string message = fmt::format("cannot {}: {}", what, cudaGetErrorString(error));
  check_failed("a call of CUDA succeeds", __FILE__, __LINE__, message.c_str());
}

namespace {

void* taken(cudaError_t error, void* memory, const char* what) {
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // which would else be taken for one of the next kernel
    throw OutOfDeviceMemory();
  }
  check(error, what);
  return memory;
}

}  // namespace

void* take_device_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes == 0) return memory;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  return taken(error, memory, "take memory of the device");
}

void* take_shared_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes == 0) return memory;
  const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
  return taken(error, memory, "take memory that host and device share");
}

SharedNumbers::SharedNumbers(std::size_t size)
    : memory_(static_cast<std::uint32_t*>(take_shared_memory(size * sizeof(std::uint32_t)))) {
  std::fill_n(memory_.get(), size, 0u);
}

Result<DevicePointer> Device::open() {
  static std::mutex mutex;
  static std::weak_ptr<Device> shared;
  const Turn turn(mutex);
  if (DevicePointer device = shared.lock()) return device;
  int count = 0, major = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return no_device(error);
  }
  if (count == 0) return no_device(cudaErrorNoDevice);
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, kDevice);
      error != cudaSuccess) {
    return no_device(error);
  }
  if (major < kMajorMin) {
    return unsupported(fmt::format("the CUDA device has compute capability {}, and {} is needed",
                                   major, kMajorMin));
  }
  if (const cudaError_t error = cudaFree(nullptr); error != cudaSuccess) return no_device(error);
  DevicePointer device(new Device);
  check(cudaStreamCreateWithFlags(&device->own_stream_, cudaStreamNonBlocking), "make a stream");
  check(cudaEventCreateWithFlags(&device->switched_, cudaEventDisableTiming), "make an event");
  void* is_bad = nullptr;
  if (const cudaError_t error = cudaHostAlloc(&is_bad, sizeof(std::uint32_t), cudaHostAllocDefault);
      error != cudaSuccess) {
    return no_device(error);
  }
  device->is_bad_ = static_cast<std::uint32_t*>(is_bad);
  device->stream_ = device->own_stream_;
  try {
    device->staging_ = std::make_unique<Staging>();
  } catch (const OutOfDeviceMemory&) {
    return no_device(cudaErrorMemoryAllocation);
  }
  shared = device;
  return device;
}

// Errors no longer matter: at the end of a process the driver may be gone already.
Device::~Device() {
  staging_.reset();
  cudaStreamSynchronize(stream_);
  cudaFree(partial_);
  cudaFreeHost(facts_);
  cudaFreeHost(is_bad_);
  cudaEventDestroy(switched_);
  cudaStreamDestroy(own_stream_);
}

void Device::use_stream(cudaStream_t stream) {
  if (stream == nullptr) stream = own_stream_;
  if (stream == stream_) return;
  check(cudaEventRecord(switched_, stream_), "switch streams");
  check(cudaStreamWaitEvent(stream, switched_, 0), "switch streams");
  stream_ = stream;
}

std::span<double> Device::facts(std::size_t count) {
  if (count > facts_size_) {
    finish();
    void* const memory = take_shared_memory(count * sizeof(double));
    cudaFreeHost(facts_);
    facts_ = static_cast<double*>(memory);
    facts_size_ = count;
  }
  return {facts_, count};
}

double* Device::partial(std::size_t count) {
  if (count > partial_size_) {
    finish();
    void* const memory = take_device_memory(count * sizeof(double));
    cudaFree(partial_);
    partial_ = static_cast<double*>(memory);
    partial_size_ = count;
  }
  return partial_;
}

Place place_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "look at a pointer");
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged:
      return Place::kDevice;
    case cudaMemoryTypeHost:
      return Place::kPinned;
    default:
      return Place::kHost;
  }
}

void Mirror::reserve(std::size_t size) {
  if (size <= words_.size()) return;
  DeviceArray<std::uint64_t> larger(std::max(size, 2 * words_.size()));
  words_ = std::move(larger);
  before_.clear();
  before_.reserve(words_.size());
}

const std::uint64_t* Mirror::update(std::span<const std::uint64_t> words, cudaStream_t stream) {
  constexpr std::size_t kPatchedMax = 4 * std::size_t{kPatchMax};
  BALLAST_CHECK(words.size() <= words_.size(), "the mirror is too small");
  const auto is_same = [&](std::size_t i) { return i < before_.size() && before_[i] == words[i]; };
  std::size_t changed = 0;
  for (std::size_t i = 0; i < words.size(); ++i) changed += is_same(i) ? 0 : 1;
  if (changed > kPatchedMax) {
    check(cudaMemcpyAsync(words_.data(), words.data(), words.size_bytes(), cudaMemcpyHostToDevice,
                          stream),
          "copy to the device");
  } else if (changed > 0) {
    Patch patch;
    patch.count = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_same(i)) {
        patch.word[patch.count] = words[i];
        patch.place[patch.count++] = static_cast<std::uint32_t>(i);
      }
      if (patch.count < kPatchMax && (i + 1 < words.size() || patch.count == 0)) continue;
      write_patch(patch, words_.data(), stream);
      patch.count = 0;
    }
  }
  if (before_.size() < words.size()) before_.resize(words.size());
  std::ranges::copy(words, before_.begin());
  return words_.data();
}

}  // namespace ballast::kernels::cuda
