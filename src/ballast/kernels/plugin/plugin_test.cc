#include "ballast/kernels/plugin/plugin.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "ballast/kernels/backends_for_test.h"

namespace ballast::kernels {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path fake(const std::string& kind) {
  return fs::path(BALLAST_FAKE_PLUGINS) / ("libballast_" + kind + ".so");
}

std::string error_of(const fs::path& file) {
  const auto backend = load_backend(file);
  EXPECT_FALSE(backend.has_value());
  return backend ? "no error" : backend.error().message;
}

TEST(Plugin, GivesABackendThatWorks) {
  const auto backend = load_backend(fake("cuda"));
  ASSERT_TRUE(backend.has_value()) << backend.error().message;
  EXPECT_EQ((*backend)->name(), "device");
  TestTable rows(3, 2);
  rows[0] = {1.0f, 9.0f}, rows[1] = {2.0f, 8.0f}, rows[2] = {30.0f, 7.0f};
  const auto table = own_rows(**backend, rows);
  const auto median = (*backend)->make_vector(2);
  (*backend)->weighted_median(*table, Weights::equal(3), *median);
  EXPECT_EQ(values_of(*median), (std::vector{2.0f, 8.0f}));
  EXPECT_FALSE(make_cpu_backend(1)->can_use(*median)) << "its memory is not the host's";
}

TEST(Plugin, IsNotUsedWhenSomethingIsWrong) {
  const fs::path text = fs::path(testing::TempDir()) / "libballast_text.so";
  std::ofstream(text) << "not a library";
  EXPECT_THAT(error_of(fake("missing")), HasSubstr("libballast_missing.so does not exist"));
  EXPECT_THAT(error_of(text), HasSubstr("cannot be loaded"));
  EXPECT_THAT(error_of(fake("other_version")),
              HasSubstr(fmt::format("version {} of the seam, and this program has version {}",
                                    kSeamVersion + 1, kSeamVersion)));
  EXPECT_THAT(error_of(fake("no_device")), HasSubstr("has no backend: no device was found"));
  EXPECT_THAT(error_of("/lib/x86_64-linux-gnu/libm.so.6"),
              testing::AnyOf(HasSubstr("does not define ballast_backend_plugin"),
                             HasSubstr("does not exist")));
}

TEST(Plugin, IsLookedForBesideTheCodeThatAsks) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(plugin_path("cuda"), program.parent_path() / "libballast_cuda.so");

  // A library with the same code in it, such as a module of Python, looks beside itself.
  void* const library = dlopen(fake("cuda").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto sees = reinterpret_cast<const char* (*)()>(dlsym(library, "fake_plugin_sees"));
  ASSERT_NE(sees, nullptr);
  EXPECT_STREQ(sees(), "device");
}

TEST(MakeBackend, KnowsEveryDevice) {
  EXPECT_EQ((*make_backend("cpu", 2))->name(), "cpu");
  EXPECT_EQ((*make_backend("reference", 2))->name(), "reference");
  const auto none = make_backend("tpu", 1);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(none.error().message, HasSubstr("no device 'tpu'; use cpu, reference, cuda"));
  const auto cuda = make_backend("cuda", 1);
  if (!fs::exists(plugin_path("cuda"))) {
    ASSERT_FALSE(cuda.has_value());
    EXPECT_EQ(cuda.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(cuda.error().message, HasSubstr("no CUDA plugin: "));
    EXPECT_THAT(cuda.error().message, HasSubstr("use the device 'cpu'"));
  }
}

}  // namespace
}  // namespace ballast::kernels
