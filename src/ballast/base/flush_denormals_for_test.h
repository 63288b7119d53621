#pragma once
// For tests: a thread that takes denormal numbers for zero, as one is left by a library that was
// built with -ffast-math.

#include "ballast/base/ieee_arithmetic.h"

namespace ballast {

class FlushDenormals {
 public:
  FlushDenormals() { begin(); }
  ~FlushDenormals() {
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x8040u);
#endif
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

  // Without an end.
  static void begin() {
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
  }
  static bool is_possible() {
    const FlushDenormals flushing;
    return flushes_denormals();
  }
};

}  // namespace ballast
