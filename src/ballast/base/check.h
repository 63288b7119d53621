#pragma once
// Broken invariants of this program. Never reachable from what a peer, a file or a flag says: those
// are Result<T> (error.h).

namespace ballast {

// Prints the condition, its place and the message to standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const char* message) noexcept;

}  // namespace ballast

// Stays on in release builds.
#define BALLAST_CHECK(condition, message) \
  ((condition) ? (void)0 : ::ballast::check_failed(#condition, __FILE__, __LINE__, message))

// For hot loops: on in debug builds only.
#ifdef NDEBUG
#define BALLAST_DCHECK(condition, message) ((void)0)
#else
#define BALLAST_DCHECK(condition, message) BALLAST_CHECK(condition, message)
#endif
