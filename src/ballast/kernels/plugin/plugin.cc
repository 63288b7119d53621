#include "ballast/kernels/plugin/plugin.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <link.h>

#include <array>
#include <system_error>

#include "ballast/base/ieee_arithmetic.h"

namespace ballast::kernels {
namespace {

namespace fs = std::filesystem;

// The file that this very code was loaded from.
fs::path own_file() {
  Dl_info info{};
  void* map = nullptr;
  const auto* here = reinterpret_cast<const void*>(&plugin_path);
  std::error_code ignored;
  if (dladdr1(here, &info, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr) {
    const char* const name = static_cast<const link_map*>(map)->l_name;
    // The program itself has no name there, and argv[0] may be anything.
    if (name != nullptr && *name != '\0') return fs::weakly_canonical(name, ignored);
  }
  return fs::read_symlink("/proc/self/exe", ignored);
}

tl::unexpected<Error> no_plugin(const fs::path& file, std::string_view why) {
  return unsupported(fmt::format("{} {}", file.string(), why));
}

}  // namespace

fs::path plugin_path(std::string_view name) {
  return own_file().parent_path() / fmt::format("libballast_{}.so", name);
}

Result<std::unique_ptr<Backend>> load_backend(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return no_plugin(file, "does not exist");
  const IeeeArithmetic ieee;  // what it sets for this thread is undone
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return no_plugin(file, fmt::format("cannot be loaded: {}", why == nullptr ? "?" : why));
  }
  // Never closed: the code of every backend it made lies in it.
  const auto describe = reinterpret_cast<PluginFunction>(dlsym(library, kPluginFunction));
  if (describe == nullptr) {
    return no_plugin(file, fmt::format("is no plugin: it does not define {}", kPluginFunction));
  }
  const Plugin* const plugin = describe();
  if (plugin == nullptr || plugin->seam_version != kSeamVersion) {
    return no_plugin(file, fmt::format("is built for version {} of the seam, and this program has "
                                       "version {}; install the two together",
                                       plugin == nullptr ? 0 : plugin->seam_version, kSeamVersion));
  }
  std::array<char, 512> why{};
  std::unique_ptr<Backend> backend(plugin->make(why.data(), why.size()));
  why.back() = '\0';
  if (backend == nullptr) return no_plugin(file, fmt::format("has no backend: {}", why.data()));
  return backend;
}

Result<std::unique_ptr<Backend>> make_cuda_backend() {
  auto backend = load_backend(plugin_path("cuda"));
  if (backend) return backend;
  return unsupported(
      fmt::format("no CUDA plugin: {}; use the device 'cpu'", backend.error().message));
}

Result<std::unique_ptr<Backend>> make_backend(std::string_view device, std::size_t threads) {
  if (device == "cpu") return make_cpu_backend(threads);
  if (device == "reference") return make_reference_backend();
  if (device == "cuda") return make_cuda_backend();
  return invalid_argument(
      fmt::format("there is no device '{}'; use {}", device, fmt::join(kDevices, ", ")));
}

}  // namespace ballast::kernels
