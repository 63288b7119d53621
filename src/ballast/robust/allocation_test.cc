// After the first calls of a size the rules allocate nothing. This file counts the allocations of
// the whole test program.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "ballast/robust/row_table.h"
#include "ballast/robust/rules/rule_for_test.h"

namespace {

std::atomic<std::size_t> allocation_count = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocation_count;
  const std::size_t rounded = (bytes + alignment) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, rounded)) return memory;
  throw std::bad_alloc();
}

// Not inline, or g++ sees free() where it expects delete and warns.
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
// The address sanitizer brings its own forms that do not throw; std::stable_sort uses them.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace ballast::robust {
namespace {

constexpr std::size_t kRows = 9, kDim = 5000;
constexpr const char* kRules[] = {"mean",
                                  "cwmed",
                                  "cwtm(0.2)",
                                  "gm",
                                  "ctma(gm, 0.4)",
                                  "krum(0.2)",
                                  "ctma(cwmed, 0.3)",
                                  "multikrum(0.2)",
                                  "mda(0.3)",
                                  "meamed(0.3)",
                                  "bulyan(0.2)",
                                  "cge(0.3)",
                                  "monna(0.3)",
                                  "smea(0.3)",
                                  "caf(0.3)",
                                  "dnc(0.3, iterations=2, coordinates=50)",
                                  "cclip(gm, 1)",
                                  "cclip(previous, 1)",
                                  "cclip(cwmed, 1, steps=3)",
                                  "arc(cwmed, 0.3)",
                                  "distinct(gm)",
                                  "nnm(gm, 0.2)",
                                  "nnm(cwmed, 0.2)",
                                  "bucketing(gm, 2)",
                                  "unweighted(gm)",
                                  "bucketing(ctma(cwmed, 0.2), 3)",
                                  "unweighted(bucketing(cwmed, 2))"};

TEST(Allocation, IsCounted) {
  const std::size_t before = allocation_count;
  const std::vector<int> vector(10);
  const AlignedVector<int> aligned(10);
  EXPECT_EQ(allocation_count, before + 2);
}

// The first call learns how much scratch memory is needed, the second takes it in one piece.
TEST(Allocation, StopsAfterTheSecondStatelessCall) {
  const auto backend = kernels::make_cpu_backend(1);
  for (const char* text : kRules) {
    SCOPED_TRACE(text);
    const RulePointer the_rule = rule(text);
    auto table = kernels::make_table(kernels::Filling::kNormal, kRows, kDim, 1);
    const auto rows = table.view();
    kernels::Weights weights;
    ASSERT_TRUE(weights.assign(kernels::make_weights(kernels::Weighting::kSmallCounts, kRows, 1)));
    std::vector<float> out(kDim);
    Workspace workspace;
    Report report;
    const auto call = [&] {
      aggregate_unchecked(*the_rule, workspace.show(*backend, rows), weights,
                          workspace.show(*backend, out), *backend, workspace, {}, report);
    };
    call();
    call();
    const std::size_t before = allocation_count;
    for (int k = 0; k < 3; ++k) call();
    EXPECT_EQ(allocation_count - before, 0u);
  }
}

TEST(Allocation, StopsOnceTheTableIsFull) {
  for (const char* text : kRules) {
    SCOPED_TRACE(text);
    RowTable table(rule(text), kernels::make_cpu_backend(1), kRows, kDim);
    auto rows = kernels::make_table(kernels::Filling::kNormal, 50, kDim, 2);
    std::size_t step = 0;
    const auto update = [&] {
      const std::size_t count = 1 + step / 9;
      ASSERT_TRUE(table.put(step % kRows, rows[step % 50], static_cast<double>(count)));
      ASSERT_TRUE(table.aggregate().has_value());
      ++step;
    };
    for (std::size_t k = 0; k < 3 * kRows; ++k) update();
    const std::size_t before = allocation_count;
    for (std::size_t k = 0; k < 10 * kRows; ++k) update();
    EXPECT_EQ(allocation_count - before, 0u);
  }
}

// The rule over one table, and another combined with what it found.
TEST(Allocation, StopsWhereCoefficientsGoFromOneTableToAnother) {
  for (const char* text : kRules) {
    if (!rule(text)->has_coefficients()) continue;
    SCOPED_TRACE(text);
    RowTable judged(rule(text), kernels::make_cpu_backend(1), kRows, kDim);
    RowTable combined(nullptr, kernels::make_cpu_backend(1), kRows, kDim);
    auto rows = kernels::make_table(kernels::Filling::kNormal, 50, kDim, 2);
    std::size_t step = 0;
    const auto update = [&] {
      for (RowTable* table : {&judged, &combined}) {
        ASSERT_TRUE(table->put(step % kRows, rows[step % 50], 1.0));
      }
      combined.combine(judged.coefficients().value());
      ++step;
    };
    for (std::size_t k = 0; k < 3 * kRows; ++k) update();
    const std::size_t before = allocation_count;
    for (std::size_t k = 0; k < 10 * kRows; ++k) update();
    EXPECT_EQ(allocation_count - before, 0u);
  }
}

}  // namespace
}  // namespace ballast::robust
