#pragma once
// NumPy's .npy files, versions 1.0, 2.0 and 3.0 of the format (numpy.lib.format): read with every
// claim checked against the true size before anything is allocated, written as version 1.0.
//
// Read are booleans, integers and floats of 16 to 64 bits in either byte order; 16-bit floats come
// back as float32 and booleans as uint8. Two-dimensional arrays in Fortran order are transposed.
// Python objects, records, texts, dates and complex numbers are refused.
//
// Thread-safety: pure functions but for the files they touch.

#include <cstddef>
#include <filesystem>
#include <span>

#include "ballast/base/error.h"
#include "ballast/files/array.h"
#include "ballast/files/file_io.h"

namespace ballast::files {

// The array in a file, in bytes in memory, or in anything else that can be read.
// Cost: memory for the array; twice that while Fortran order is transposed.
Result<Array> read_npy(const std::filesystem::path& path);
Result<Array> parse_npy(std::span<const std::byte> bytes);
Result<Array> load_npy(const ByteSource& source);

// Whether the source starts as every .npy file does.
Result<bool> looks_like_npy(const ByteSource& source);

// Writes the array so that numpy.load() gives it back; atomically, as write_file_atomically() does.
Status write_npy(const std::filesystem::path& path, const ArrayView& array);

}  // namespace ballast::files
