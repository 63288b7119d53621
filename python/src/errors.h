#pragma once
// From the library's errors to Python's exceptions, with the same texts. The classes stand in
// ballast/_errors.py.

#include <nanobind/nanobind.h>

#include <utility>

#include "ballast/base/error.h"

namespace ballast::python {

// Lets LibraryError become the exception class of its code.
void register_errors();

struct LibraryError {
  Error error;
};

// The value, or the exception.
template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) throw LibraryError{std::move(result).error()};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

inline void raise_if_failed(const Status& status) {
  if (!status) throw LibraryError{status.error()};
}

// For misuse that the library would call a bug of its caller.
[[noreturn]] inline void raise_invalid(std::string message) {
  throw LibraryError{{ErrorCode::kInvalidArgument, std::move(message)}};
}

}  // namespace ballast::python
