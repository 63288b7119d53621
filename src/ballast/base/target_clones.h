#pragma once
// BALLAST_CLONES before a function compiles it for several instruction sets; the loader picks the
// best one. For loops that vectorise by themselves, where Highway would do the same with more
// ceremony. Rooms that use it are compiled with -ffp-contract=off: some instruction sets could fuse
// a multiplication and an addition into one rounding, and would give different bits.
//
// Sanitizers instrument the code that picks before they are ready for it, so they get the plain
// version.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BALLAST_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BALLAST_CLONES
#endif
