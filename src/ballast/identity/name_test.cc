#include "ballast/identity/name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ballast::identity {
namespace {

TEST(Name, IsMadeOfLowerCaseLettersDigitsAndHyphens) {
  for (const char* name : {"a", "7", "worker-1", "0-", "a--b"}) EXPECT_TRUE(is_name(name)) << name;
  for (const char* text : {"", "-a", "A", "a_b", "a.b", "a/b", "../a", "a b", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(is_name(text)) << text;
  }
  EXPECT_FALSE(is_name(std::string_view("a\0b", 3)));
}

TEST(Name, HasAtMost63Characters) {
  EXPECT_TRUE(is_name(std::string(63, 'x')));
  EXPECT_FALSE(is_name(std::string(64, 'x')));
}

TEST(Name, IsExplainedWhereItIsWrong) {
  EXPECT_TRUE(check_name("worker-1").has_value());
  const auto refused = check_name("Worker\n1");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "'Worker?1' is not a name; use at most 63 of a-z, 0-9 and '-', and begin with a letter "
            "or digit");
}

}  // namespace
}  // namespace ballast::identity
