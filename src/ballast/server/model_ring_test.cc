#include "ballast/server/model_ring.h"

#include <gtest/gtest.h>

namespace ballast::server {
namespace {

Snapshot model(std::uint64_t version) {
  return {.version = version,
          .values = std::make_shared<const std::vector<float>>(1, static_cast<float>(version))};
}

TEST(ModelRing, FindsTheNewestModelsByVersion) {
  ModelRing ring(2);
  for (const std::uint64_t version : {3u, 5u, 6u}) ring.note(model(version));
  EXPECT_EQ(ring.find(3), nullptr);
  EXPECT_EQ(ring.find(4), nullptr);
  EXPECT_EQ(ring.find(5)->front(), 5.0f);
  EXPECT_EQ(ring.find(6)->front(), 6.0f);
  EXPECT_EQ(ring.models().size(), 2u);
}

TEST(ModelRing, NotesAVersionOnce) {
  ModelRing ring(3);
  const Snapshot first = model(1);
  ring.note(first);
  ring.note(model(1));
  EXPECT_EQ(ring.models().size(), 1u);
  EXPECT_EQ(ring.find(1), first.values);
}

TEST(ModelRing, ForgetsModelsOfAnotherLife) {
  ModelRing ring(3);
  for (const std::uint64_t version : {4u, 7u, 8u, 5u}) ring.note(model(version));
  EXPECT_NE(ring.find(4), nullptr);
  EXPECT_NE(ring.find(5), nullptr);
  EXPECT_EQ(ring.find(7), nullptr);
  EXPECT_EQ(ring.models().size(), 2u);
}

}  // namespace
}  // namespace ballast::server
