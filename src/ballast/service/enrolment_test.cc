#include "ballast/service/enrolment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace ballast::service {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

store::Manifest stored(std::vector<std::string> names, std::size_t places) {
  store::Manifest manifest;
  for (std::string& name : names) manifest.workers.push_back({.name = name, .certificate = "c"});
  manifest.shape.worker_count = places;
  return manifest;
}

TEST(Enrolment, ANewRunHasAPlaceForEachNameAndTheFreeOnes) {
  const auto exact = enrol({.names = {"a", "b"}}, nullptr).value();
  EXPECT_THAT(exact.names(), ElementsAre("a", "b"));
  EXPECT_EQ(exact.places, 2u);
  EXPECT_EQ(enrol({.names = {"a", "b"}, .free_places = 2}, nullptr)->places, 4u);
  EXPECT_EQ(enrol({.names = {"a", "b"}, .places = 9, .free_places = 2}, nullptr)->places, 9u);
  EXPECT_THAT(enrol({.names = {"a", "b"}, .places = 1}, nullptr).error().message,
              HasSubstr("--max-workers says 1"));
}

TEST(Enrolment, WhoIsThereKeepsItsNumberAndItsCertificate) {
  const store::Manifest before = stored({"a", "b"}, 3);
  const auto more = enrol({.names = {"c", "b", "d"}}, &before).value();
  EXPECT_THAT(more.names(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(more.added, ElementsAre("c", "d"));
  EXPECT_EQ(more.places, 4u);
  EXPECT_EQ(more.workers[1].certificate, "c");
  EXPECT_EQ(more.workers[2].certificate, "");
}

TEST(Enrolment, PlacesDoNotBecomeFewer) {
  const store::Manifest before = stored({"a", "b"}, 5);
  EXPECT_EQ(enrol({.names = {"a"}}, &before)->places, 5u);
  EXPECT_EQ(enrol({.names = {"a"}, .places = 6}, &before)->places, 6u);
  EXPECT_THAT(enrol({.names = {"a"}, .places = 4}, &before).error().message,
              HasSubstr("2 enrolled workers and 5 places"));
}

TEST(Enrolment, WhatIsNoNameOrIsNamedTwiceIsRefused) {
  EXPECT_FALSE(enrol({.names = {"A b"}}, nullptr));
  EXPECT_THAT(enrol({.names = {"a", "a"}}, nullptr).error().message, HasSubstr("a is named twice"));
  EXPECT_FALSE(enrol({.names = {"a"}, .places = kPlacesMax + 1}, nullptr));
}

TEST(WorkersFile, IsReadAgainWhenItChanges) {
  const fs::path path = fs::path(testing::TempDir()) / "ballast-workers-file";
  const auto write = [&](const char* text) { std::ofstream(path) << text; };
  fs::remove(path);
  WorkersFileWatch watch(path);
  EXPECT_FALSE((*watch.look()).has_value()) << "is missing";
  EXPECT_FALSE(watch.look()) << "which is said once";
  write("a\n");
  EXPECT_THAT(watch.look()->value(), ElementsAre("a"));
  EXPECT_FALSE(watch.look());
  write("a\nb");
  EXPECT_THAT(watch.look()->error().message, HasSubstr("ballast-workers-file"));
  write("a\nb\n");
  EXPECT_THAT(watch.look()->value(), ElementsAre("a", "b"));
  fs::remove(path);
}

}  // namespace
}  // namespace ballast::service
