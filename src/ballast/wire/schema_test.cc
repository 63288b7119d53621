#include "ballast/wire/schema.h"

#include <gtest/gtest.h>

#include <set>

namespace ballast::wire {
namespace {

using Tensors = std::vector<TensorSchema>;

TEST(Schema, DifferentNetworksHaveDifferentHashes) {
  const std::vector<Tensors> all = {
      {},           {{"a", {2, 3}}},       {{"a", {3, 2}}},         {{"b", {2, 3}}},
      {{"a", {6}}}, {{"a", {}}},           {{"a", {2}}, {"", {3}}}, {{"a", {}}, {"b", {}}},
      {{"ab", {}}}, {{"b", {}}, {"a", {}}}};
  std::set<std::uint64_t> hashes;
  for (const Tensors& tensors : all) hashes.insert(schema_hash(tensors));
  EXPECT_EQ(hashes.size(), all.size());
}

// By hand: FNV-1a of eight zero bytes is eight multiplications of the offset basis by the prime.
TEST(Schema, TheEmptySchemaHashesEightZeroBytes) {
  std::uint64_t expected = 14695981039346656037u;
  for (int i = 0; i < 8; ++i) expected *= 1099511628211u;
  EXPECT_EQ(schema_hash(Tensors{}), expected);
}

}  // namespace
}  // namespace ballast::wire
