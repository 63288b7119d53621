#pragma once
// Private to face/: the backend that a Compute asks for.

#include <memory>

#include "ballast/compute.h"
#include "ballast/kernels/backend.h"

namespace ballast::face {

// Refuses unknown devices and more threads than anybody has.
Result<std::shared_ptr<const kernels::Backend>> make_backend(const Compute& compute);

// What a table or a model may hold at most, so that sizes can be multiplied safely.
inline constexpr std::size_t kValuesMax = std::size_t{1} << 32;
inline constexpr std::size_t kRowsMax = 65'536;

}  // namespace ballast::face
