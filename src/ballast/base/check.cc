#include "ballast/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ballast {

void check_failed(const char* condition, const char* file, int line, const char* message) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, message);
  std::abort();
}

}  // namespace ballast
