#include "python/src/errors.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

const char* class_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kIo:
      return "IoError";
    case ErrorCode::kNotFinite:
      return "NotFinite";
    case ErrorCode::kInterrupted:
      return "Interrupted";
  }
  return "BallastError";
}

}  // namespace

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const LibraryError& failure) {
      const nb::object type =
          nb::module_::import_("ballast._errors").attr(class_name(failure.error.code));
      PyErr_SetString(type.ptr(), failure.error.message.c_str());
    }
  });
}

}  // namespace ballast::python
