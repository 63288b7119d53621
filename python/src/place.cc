#include "python/src/place.h"

#include <fmt/core.h>
#include <unistd.h>

#include <map>

#include "ballast/base/parallel.h"
#include "python/src/errors.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

std::shared_ptr<kernels::Backend> cpu_backend(std::size_t threads) {
  static std::map<std::size_t, std::shared_ptr<kernels::Backend>> backends;
  if (threads == 0) threads = hardware_threads();
  if (threads > 1024) raise_invalid(fmt::format("{} threads are too many", threads));
  auto& backend = backends[threads];
  if (backend == nullptr) backend = kernels::make_cpu_backend(threads);
  return backend;
}

std::shared_ptr<kernels::Backend> cuda_backend() {
  static std::shared_ptr<kernels::Backend> backend;
  static pid_t owner = 0;
  if (backend == nullptr) {
    backend = value_or_raise(kernels::make_cuda_backend());
    owner = getpid();
  }
  if (owner != getpid()) {
    throw LibraryError{{ErrorCode::kUnsupported,
                        "this process was forked from one that uses the CUDA device, which does "
                        "not survive that; start it with the method 'spawn'"}};
  }
  return backend;
}

void check_place(int type, int number, const Place& place) {
  if (!place.is_cuda) {
    if (type != nb::device::cpu::value) raise_invalid("the array is not in host memory");
    return;
  }
  if (type != nb::device::cuda::value && type != nb::device::cuda_managed::value) {
    raise_invalid("the array is not in the memory of a CUDA device");
  }
  if (number != 0) {
    raise_invalid(fmt::format("the array is on the CUDA device {}, not on the first", number));
  }
}

template <typename Array>
Array array_at(nb::handle object, const Place& place) {
  Array array;
  if (!nb::try_cast(object, array, false)) {
    raise_invalid("an array of float32 is needed, and one that may be changed for a result");
  }
  check_place(array.device_type(), array.device_id(), place);
  return array;
}

template <typename Array>
void check_vector(const Array& array) {
  const bool fits = array.ndim() == 1 && (array.shape(0) <= 1 || array.stride(0) == 1);
  if (!fits) raise_invalid("one contiguous vector is needed");
}

}  // namespace

Place find_place(const std::string& device, std::size_t threads) {
  if (device == "cpu") return {cpu_backend(threads), false};
  if (device == "cuda") return {cuda_backend(), true};
  raise_invalid(fmt::format("there is no device '{}'; use cpu or cuda", device));
}

std::mutex& cuda_turn() {
  static std::mutex mutex;
  return mutex;
}

ReadArray read_array(nb::handle object, const Place& place) {
  return array_at<ReadArray>(object, place);
}

WriteArray write_array(nb::handle object, const Place& place) {
  return array_at<WriteArray>(object, place);
}

std::span<const float> vector_of(const ReadArray& array) {
  check_vector(array);
  return {array.data(), array.shape(0)};
}

std::span<float> vector_of(const WriteArray& array) {
  check_vector(array);
  return {array.data(), array.shape(0)};
}

}  // namespace ballast::python
