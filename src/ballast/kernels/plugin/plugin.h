#pragma once
// The seam for backends that come in a library of their own and are found when the program runs, so
// that one package serves machines with and without a GPU.
//
// A plugin is a shared library libballast_NAME.so beside the program or library that holds this
// code. It defines one C function, ballast_backend_plugin, and its Backend fulfils the contract of
// backend.h; the tests of backends run on any that is found. Tables, vectors and weights cross the
// seam as C++ objects, so both sides are built from the same headers by compilers of one ABI: that
// is what the version stands for. No exception may cross it but std::bad_alloc, and a plugin links
// what it needs of Ballast into itself.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/kernels/backend.h"

namespace ballast::kernels {

// Goes up with every change to backend.h, table.h, vector.h, rows.h, weights.h or row_buffer.h.
inline constexpr std::uint32_t kSeamVersion = 3;

struct Plugin {
  std::uint32_t seam_version;  // kSeamVersion of the headers it was built from; first for ever
  // A new backend, which the caller deletes. Null where there can be none, such as on a machine
  // without a device; `why` then holds the reason, a text that ends with a zero.
  Backend* (*make)(char* why, std::size_t why_size);
};

using PluginFunction = const Plugin* (*)();
inline constexpr const char* kPluginFunction = "ballast_backend_plugin";

// Where the plugin of that name belongs: beside the program or shared library that this code was
// linked into. (Inside Python the program is Python; the library is the module.)
std::filesystem::path plugin_path(std::string_view name);

// A backend of the plugin in that file, which stays loaded. The error says what is wrong with it.
Result<std::unique_ptr<Backend>> load_backend(const std::filesystem::path& file);

}  // namespace ballast::kernels

// What a plugin defines; it returns the same description each time.
extern "C" __attribute__((visibility("default"))) const ballast::kernels::Plugin*
ballast_backend_plugin();
