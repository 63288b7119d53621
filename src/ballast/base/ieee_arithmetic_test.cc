#include "ballast/base/ieee_arithmetic.h"

#include <gtest/gtest.h>

#include <array>
#include <cfloat>

#include "ballast/base/flush_denormals_for_test.h"
#include "ballast/base/parallel.h"

namespace ballast {
namespace {

float halved(float value) {
  const volatile float read = value;
  return read * 0.5f;
}

TEST(IeeeArithmetic, DenormalsAreThereWithinItAndTheThreadIsAsBeforeAfterwards) {
  if (!FlushDenormals::is_possible()) GTEST_SKIP() << "this processor cannot be told to flush";
  const FlushDenormals flushing;
  ASSERT_EQ(halved(FLT_MIN), 0.0f);
  {
    const IeeeArithmetic ieee;
    EXPECT_FALSE(flushes_denormals());
    EXPECT_EQ(halved(FLT_MIN), 0x1p-127f);
  }
  EXPECT_TRUE(flushes_denormals());
}

TEST(IeeeArithmetic, WhatALibrarySetsWhileItIsLoadedIsUndone) {
  {
    const IeeeArithmetic ieee;
    FlushDenormals::begin();
  }
  EXPECT_FALSE(flushes_denormals());
}

// Threads begin as the one that starts them is.
TEST(IeeeArithmetic, NumberedPiecesOfWorkAreDoneWithDenormals) {
  const FlushDenormals flushing;
  std::array<float, 64> results{};
  parallel_for(4, results.size(), [&](std::size_t i) { results[i] = halved(FLT_MIN); });
  for (const float result : results) EXPECT_EQ(result, 0x1p-127f);
}

}  // namespace
}  // namespace ballast
