#pragma once
// Private to files/: the text between the magic bytes and the data of a .npy file, which is a
// Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.

#include <bit>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/files/array.h"
#include "ballast/files/stored_values.h"

namespace ballast::files {

struct NpyHeader {
  StoredType type;
  std::endian byte_order = std::endian::little;
  bool is_fortran_order = false;
  ArrayShape shape;
};

// Takes the three keys, in any order and each once, and nothing else; spaces and a trailing comma
// are allowed where Python allows them.
Result<NpyHeader> parse_npy_header(std::string_view text);

// The dictionary of an array in C order, without padding.
std::string npy_dictionary(ElementType type, const ArrayShape& shape);

}  // namespace ballast::files
