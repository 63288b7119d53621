#pragma once
// Private to face/: what keeps a mistake of a caller from ending its process. Code of the caller
// may throw, sizes may ask for more memory than there is, objects may have been moved from.

#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ballast/base/error.h"

namespace ballast::face {

// Calls the function, which returns a Result; an exception becomes an error that names `who`.
template <typename Function>
auto guarded(const char* who, Function&& function) -> decltype(function()) {
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return unsupported(std::string(who) + ": there is not enough memory");
  } catch (const std::exception& exception) {
    return invalid_argument(std::string(who) + ": " + exception.what());
  } catch (...) {
    return invalid_argument(std::string(who) + ": threw something that is no std::exception");
  }
}

inline tl::unexpected<Error> moved_from(const char* what) {
  return invalid_argument(std::string("this ") + what + " was moved from; use the new one");
}

template <typename T>
bool is_null(std::span<T> span) noexcept {
  return span.data() == nullptr && !span.empty();
}

inline bool is_null(std::string_view text) noexcept {
  return text.data() == nullptr && !text.empty();
}

}  // namespace ballast::face
