#include "ballast/base/ieee_arithmetic.h"

namespace ballast {
namespace {

#if defined(__SSE__)
constexpr unsigned long kFlushing = 0x8040;  // FTZ and DAZ of MXCSR
unsigned long control() noexcept { return __builtin_ia32_stmxcsr(); }
void set_control(unsigned long value) noexcept {
  __builtin_ia32_ldmxcsr(static_cast<unsigned>(value));
}
#elif defined(__aarch64__)
constexpr unsigned long kFlushing = 1ul << 24;  // FZ of FPCR
unsigned long control() noexcept {
  unsigned long value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control(unsigned long value) noexcept { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
constexpr unsigned long kFlushing = 0;
unsigned long control() noexcept { return 0; }
void set_control(unsigned long) noexcept {}
#endif

}  // namespace

bool flushes_denormals() noexcept { return (control() & kFlushing) != 0; }

IeeeArithmetic::IeeeArithmetic() noexcept : before_(control()) {
  if ((before_ & kFlushing) != 0) set_control(before_ & ~kFlushing);
}

// Only the bits in question: what else was set meanwhile, such as flags of exceptions, stays.
IeeeArithmetic::~IeeeArithmetic() {
  const unsigned long now = control();
  const unsigned long wanted = (now & ~kFlushing) | (before_ & kFlushing);
  if (now != wanted) set_control(wanted);
}

}  // namespace ballast
