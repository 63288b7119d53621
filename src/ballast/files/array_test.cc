#include "ballast/files/array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

template <typename T>
Array vector_of(std::initializer_list<T> values) {
  return {.shape = {values.size()}, .values = AlignedVector<T>(values)};
}

template <typename T>
void expect_type(ElementType type, std::string_view name) {
  const Array array = vector_of<T>({1, 2, 3});
  EXPECT_EQ(array.type(), type);
  EXPECT_EQ(element_name(type), name);
  EXPECT_EQ(element_bytes(type), sizeof(T));
  EXPECT_EQ(ArrayView(array).type(), type);
  EXPECT_EQ(ArrayView(array).bytes().size(), 3 * sizeof(T));
  EXPECT_EQ(to_doubles(array), (std::vector<double>{1, 2, 3}));
}

TEST(Array, KnowsItsTypes) {
  expect_type<float>(ElementType::kFloat32, "float32");
  expect_type<double>(ElementType::kFloat64, "float64");
  expect_type<std::int8_t>(ElementType::kInt8, "int8");
  expect_type<std::int16_t>(ElementType::kInt16, "int16");
  expect_type<std::int32_t>(ElementType::kInt32, "int32");
  expect_type<std::int64_t>(ElementType::kInt64, "int64");
  expect_type<std::uint8_t>(ElementType::kUint8, "uint8");
  expect_type<std::uint16_t>(ElementType::kUint16, "uint16");
  expect_type<std::uint32_t>(ElementType::kUint32, "uint32");
  expect_type<std::uint64_t>(ElementType::kUint64, "uint64");
}

TEST(ArrayView, SeesTheOwnersElements) {
  const std::vector<float> row = {1, 2, 3, 4, 5, 6};
  const ArrayView view({2, 3}, std::span<const float>(row));
  EXPECT_EQ(static_cast<const void*>(view.bytes().data()), row.data());
  EXPECT_EQ(view.shape, (ArrayShape{2, 3}));
}

TEST(ArrayViewDeathTest, InsistsOnAsManyElementsAsTheShapeSays) {
  const std::vector<float> row(6);
  EXPECT_DEATH(ArrayView({2, 4}, std::span<const float>(row)), "as many as the shape says");
  EXPECT_DEATH(ArrayView(ArrayShape(33, 1), std::span(row).first<1>()),
               "as many as the shape says");
}

TEST(ElementCount, MultipliesTheDimensions) {
  EXPECT_EQ(element_count(ArrayShape{}), 1u);
  EXPECT_EQ(element_count(ArrayShape{3, 4}), 12u);
  EXPECT_EQ(element_count(ArrayShape{3, 0, 4}), 0u);
  EXPECT_EQ(element_count(ArrayShape(kDimensionsMax, 1)), 1u);
}

TEST(ElementCount, SeesOverflowAlsoBesideAZero) {
  constexpr std::size_t kHuge = std::size_t{1} << 33;
  EXPECT_EQ(element_count(ArrayShape{kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(element_count(ArrayShape{0, kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(element_count(ArrayShape{kHuge, kHuge, 0}), std::nullopt);
  EXPECT_EQ(element_count(ArrayShape(kDimensionsMax + 1, 1)), std::nullopt);
}

TEST(ShapeToString, IsAPythonTuple) {
  EXPECT_EQ(to_string(ArrayShape{}), "()");
  EXPECT_EQ(to_string(ArrayShape{3}), "(3,)");
  EXPECT_EQ(to_string(ArrayShape{3, 4}), "(3, 4)");
}

TEST(ToDoubles, IsExactUpToTwoToThe53) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  EXPECT_EQ(to_doubles(vector_of<std::int64_t>({kLargest, -kLargest})),
            (std::vector<double>{0x1.0p53, -0x1.0p53}));
  EXPECT_EQ(to_doubles(vector_of<std::uint64_t>({kLargest})), (std::vector<double>{0x1.0p53}));
}

TEST(ToDoubles, RefusesLargerIntegers) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  EXPECT_EQ(refusal(to_doubles(vector_of<std::int64_t>({0, kLargest + 1}))),
            "element 1 is 9007199254740993, which a double cannot hold exactly; keep integers "
            "within 2^53");
  EXPECT_FALSE(to_doubles(vector_of<std::int64_t>({-kLargest - 1})).has_value());
  EXPECT_FALSE(to_doubles(vector_of({std::numeric_limits<std::int64_t>::min()})).has_value());
  EXPECT_FALSE(to_doubles(vector_of({std::numeric_limits<std::uint64_t>::max()})).has_value());
}

}  // namespace
}  // namespace ballast::files
