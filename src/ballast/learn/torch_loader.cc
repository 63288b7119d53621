#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "ballast/base/ieee_arithmetic.h"
#include "ballast/learn/torch_engine.h"

namespace ballast::learn {
namespace {

namespace fs = std::filesystem;

// Beside the running program, in the build tree as where it is installed; else where this build
// would be installed, for programs of others.
fs::path find_library() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path beside = program.parent_path() / BALLAST_TORCH_FROM_PROGRAM;
  return fs::exists(beside, ignored) ? beside : fs::path(BALLAST_TORCH_INSTALLED);
}

tl::unexpected<Error> cannot_load(const std::string& reason) {
  return unsupported(fmt::format(
      "LibTorch cannot be loaded ({}); install the package libtorch-dev and build again", reason));
}

Result<const TorchEngine*> load() {
  const fs::path path = find_library();
  const IeeeArithmetic ieee;  // what it sets for this thread is undone
  // Never closed: LibTorch does not survive that.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return cannot_load(dlerror());
  const auto function = reinterpret_cast<TorchEngineFunction>(dlsym(library, kTorchEngineSymbol));
  const TorchEngine* engine = function == nullptr ? nullptr : function(kTorchSeamVersion);
  if (engine == nullptr) return cannot_load(path.string() + " belongs to another version");
  return engine;
}

}  // namespace

Result<const TorchEngine*> torch_engine() {
  static const Result<const TorchEngine*> engine = load();
  return engine;
}

}  // namespace ballast::learn
