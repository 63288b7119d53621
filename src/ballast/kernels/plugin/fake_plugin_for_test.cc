// A plugin as the tests load it, in the kinds that CMakeLists.txt names.

#include <cstdio>
#include <string>

#include "ballast/kernels/device_for_test.h"
#include "ballast/kernels/plugin/plugin.h"

namespace ballast::kernels {
namespace {

Backend* make([[maybe_unused]] char* why, [[maybe_unused]] std::size_t why_size) {
#ifdef FAKE_no_device
  std::snprintf(why, why_size, "%s", "no device was found");
  return nullptr;
#else
  return new DeviceBackend;
#endif
}

#ifdef FAKE_other_version
constexpr Plugin kPlugin{kSeamVersion + 1, make};
#else
constexpr Plugin kPlugin{kSeamVersion, make};
#endif

}  // namespace
}  // namespace ballast::kernels

extern "C" const ballast::kernels::Plugin* ballast_backend_plugin() {
  return &ballast::kernels::kPlugin;
}

// What the code of Ballast inside this library takes for the plugin beside it.
extern "C" const char* fake_plugin_sees() {
  static std::string text;
  const auto backend = ballast::kernels::make_cuda_backend();
  text = backend ? std::string((*backend)->name()) : backend.error().message;
  return text.c_str();
}
