#pragma once
// BALLAST_UNROLL before a loop of constant length writes it out, so that an array of vectors
// indexed by it lives in registers. Without it GCC keeps such arrays in memory unless told -O3.

#if defined(__clang__)
#define BALLAST_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BALLAST_UNROLL _Pragma("GCC unroll 16")
#endif
