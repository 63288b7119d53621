#pragma once
// Denormal numbers are kept: arithmetic is IEEE's, whatever a library has set for a thread.
//
// Processors can be told to take numbers below 1e-38 for zero ("flush to zero", "denormals are
// zero"), thread by thread, and a library that was built with -ffast-math does so when it is
// loaded, for the thread that loads it and for all that this one starts. The bits of a run would
// then depend on what else is loaded, and a restored server could go on with others than the one
// that was saved. So the doors of the computing rooms open with one of these.

namespace ballast {

// Whether this thread takes denormal numbers for zero, as an operand or as a result.
bool flushes_denormals() noexcept;

// Within its life this thread computes with denormal numbers; afterwards as before.
// Cost: a few cycles.
class IeeeArithmetic {
 public:
  IeeeArithmetic() noexcept;
  ~IeeeArithmetic();
  IeeeArithmetic(const IeeeArithmetic&) = delete;
  IeeeArithmetic& operator=(const IeeeArithmetic&) = delete;

 private:
  unsigned long before_;
};

}  // namespace ballast
