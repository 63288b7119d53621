#pragma once
// Expected failures: bad input, unreadable files, unknown names. A function that may fail for a
// reason outside this program returns Result<T>; a broken invariant of ours is a BALLAST_CHECK
// (check.h).

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ballast {

enum class ErrorCode {
  kInvalidArgument,  // the caller's value is wrong: shape, range, syntax
  kNotFound,         // no such name or file
  kUnsupported,      // this build or machine cannot do it
  kIo,               // the operating system refused
  kNotFinite,        // a computation left the finite numbers
  kInterrupted,      // the user asked to stop
};

// What went wrong and what to do about it, in one line without a full stop.
struct Error {
  ErrorCode code;
  std::string message;
};

// The value, or why there is none. The members are those of std::expected.
template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> invalid_argument(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kInvalidArgument, std::move(message)});
}
inline tl::unexpected<Error> not_found(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kNotFound, std::move(message)});
}
inline tl::unexpected<Error> unsupported(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kUnsupported, std::move(message)});
}
inline tl::unexpected<Error> not_finite(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kNotFinite, std::move(message)});
}
inline tl::unexpected<Error> interrupted(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kInterrupted, std::move(message)});
}
inline tl::unexpected<Error> io_error(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kIo, std::move(message)});
}

}  // namespace ballast

#define BALLAST_CONCAT_INNER(a, b) a##b
#define BALLAST_CONCAT(a, b) BALLAST_CONCAT_INNER(a, b)

// BALLAST_TRY(auto x, f()); declares x with the value of f(), or returns f()'s error to the caller.
#define BALLAST_TRY(declaration, expression)                                          \
  auto BALLAST_CONCAT(ballast_try_, __LINE__) = (expression);                         \
  if (!BALLAST_CONCAT(ballast_try_, __LINE__))                                        \
    return tl::unexpected(std::move(BALLAST_CONCAT(ballast_try_, __LINE__)).error()); \
  declaration = std::move(*BALLAST_CONCAT(ballast_try_, __LINE__))

// BALLAST_TRY_STATUS(f()); returns f()'s error to the caller, if there is one.
#define BALLAST_TRY_STATUS(expression)                     \
  if (auto ballast_status = (expression); !ballast_status) \
  return tl::unexpected(std::move(ballast_status).error())
