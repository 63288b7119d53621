#include "ballast/base/parallel.h"

#include <algorithm>
#include <thread>

namespace ballast {

std::size_t hardware_threads() noexcept {
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace ballast
