#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/learn/registry.h"

namespace ballast::learn {
namespace {

using ::testing::HasSubstr;

TEST(NoTorch, SaysWhichPackageIsMissing) {
  const auto twin = make_model(
      {.name = "softmax", .engine = Engine::kTorch, .input = {.channels = 2}, .class_count = 2});
  const auto script = make_model({.name = "net.pt", .input = {.channels = 2}, .class_count = 2});

  for (const auto& model : {twin, script}) {
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(model.error().message, HasSubstr("libtorch-dev"));
  }
}

}  // namespace
}  // namespace ballast::learn
