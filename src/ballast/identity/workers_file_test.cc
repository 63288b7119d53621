#include "ballast/identity/workers_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::identity {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WorkersFile, HasANamePerLine) {
  EXPECT_THAT(parse_workers_file("# ours\n\nworker-0\ngpu-7\n").value(),
              ElementsAre("worker-0", "gpu-7"));
  EXPECT_THAT(parse_workers_file("a\nB\n").error().message, HasSubstr("line 2: "));
  EXPECT_THAT(parse_workers_file("a\nb\na\n").error().message,
              HasSubstr("line 3: a is named twice"));
  EXPECT_THAT(parse_workers_file("# nobody\n").error().message, HasSubstr("names no worker"));
  EXPECT_THAT(parse_workers_file("").error().message, HasSubstr("names no worker"));
}

// Half of a name may be a name too, and would have its place for good.
TEST(WorkersFile, ALineIsReadOnceItHasEnded) {
  EXPECT_THAT(parse_workers_file("worker-0\nworker-1").error().message,
              HasSubstr("may still be written"));
}

}  // namespace
}  // namespace ballast::identity
