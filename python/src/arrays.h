#pragma once
// NumPy vectors that go in and out of the trainings.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace ballast::python {

using Values = nanobind::ndarray<const float, nanobind::ro, nanobind::ndim<1>, nanobind::c_contig,
                                 nanobind::device::cpu>;

inline std::vector<float> copy_of(const Values& values) {
  return {values.data(), values.data() + values.shape(0)};
}

// An array that owns its values.
template <typename T>
nanobind::object to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(
      kept, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()},
                                                                  owner)
      .cast();
}

}  // namespace ballast::python
