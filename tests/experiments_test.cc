// Every specification that the project offers can be run: it parses, and each of its runs is valid.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "ballast/arena/contest_spec.h"
#include "ballast/experiment/grid.h"
#include "ballast/files/text_file.h"

namespace ballast {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> specifications() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(BALLAST_EXPERIMENTS_FOLDER)) {
    if (entry.path().extension() == ".toml") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

// Contests take their methods and worlds from each other: contest_spec_test.cc looks at all three.
bool is_contest(const fs::path& path) { return path.stem().string().starts_with("arena"); }

TEST(Experiments, AreAllValid) {
  std::size_t count = 0;
  for (const fs::path& path : specifications()) {
    if (is_contest(path)) continue;
    SCOPED_TRACE(path.filename().string());
    const auto spec = experiment::read_spec(path);
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    const auto plan = experiment::expand(*spec);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_FALSE(plan->empty());
    EXPECT_EQ(spec->name, path.stem().string()) << "the folder of its results";
    ++count;
  }
  EXPECT_GE(count, 10u);
}

TEST(Experiments, ThatAreContestsAreThoseTheProgramCarries) {
  const auto carried = arena::carried_contests();
  ASSERT_TRUE(carried.has_value()) << carried.error().message;
  const auto paths = specifications();
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(paths, is_contest)), carried->size());
}

}  // namespace
}  // namespace ballast
