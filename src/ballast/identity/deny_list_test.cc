#include "ballast/identity/deny_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <span>
#include <thread>

#include "ballast/files/file_io.h"
#include "ballast/identity/test_authority.h"

namespace ballast::identity {
namespace {

using files::refusal;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const Serial kFirst{"0a1b"};
const Serial kSecond{"ffee"};

class DenyListFile : public files::FolderTest {
 protected:
  static void replace(const std::filesystem::path& path, std::string_view text) {
    const std::array pieces = {std::as_bytes(std::span(text))};
    ASSERT_TRUE(files::write_file_atomically(path, pieces).has_value());
  }

  std::unique_ptr<DenyList> open(std::string_view text) const {
    auto list = DenyList::open(make_file("denied", text));
    EXPECT_TRUE(list.has_value()) << list.error().message;
    return std::move(*list);
  }
};

TEST(DenyListText, IsReadAsItWasWritten) {
  const auto denied = parse_deny_list(format_deny_list({{kFirst, "w-1"}, {kSecond, "w-2"}}));
  ASSERT_TRUE(denied.has_value()) << denied.error().message;
  ASSERT_EQ(denied->size(), 2u);
  EXPECT_EQ(denied->at(1).serial, kSecond);
  EXPECT_EQ(denied->at(1).name, "w-2");
}

TEST(DenyListText, MayHaveCommentsEmptyLinesAndNoLastLineEnd) {
  const auto denied = parse_deny_list("# why\n\n0a1b w-1");
  ASSERT_TRUE(denied.has_value()) << denied.error().message;
  EXPECT_EQ(denied->size(), 1u);
}

TEST(DenyListText, NamesTheLineThatIsWrong) {
  for (const char* line : {"0a1b", "0A1B w-1", "xyz w-1", " w-1", "0a1b  w-1", "0a1b W",
                           "0a1b w-1\r", "0123456789012345678901234567890123456789a w-1"}) {
    EXPECT_THAT(refusal(parse_deny_list(std::string("# why\n") + line)), StartsWith("line 2 is '"))
        << line;
  }
}

TEST_F(DenyListFile, DeniesWhatItLists) {
  const auto list = open("0a1b w-1\n");
  EXPECT_EQ(list->is_denied(kFirst), true);
  EXPECT_EQ(list->is_denied(kSecond), false);
}

TEST_F(DenyListFile, IsFollowedAsItChanges) {
  const auto list = open("");
  EXPECT_EQ(list->is_denied(kFirst), false);
  replace(in_folder("denied"), "0a1b w-1\n");
  EXPECT_EQ(list->is_denied(kFirst), true);
  replace(in_folder("denied"), "ffee w-1\n");  // the same length
  EXPECT_EQ(list->is_denied(kFirst), false);
  EXPECT_EQ(list->is_denied(kSecond), true);
}

TEST_F(DenyListFile, AnswersNothingWhileItCannotBeRead) {
  const auto list = open("0a1b w-1\n");
  replace(in_folder("denied"), "nonsense\n");
  EXPECT_THAT(refusal(list->is_denied(kFirst)), HasSubstr("denied: line 1 is 'nonsense'"));
  EXPECT_FALSE(list->is_denied(kSecond).has_value()) << "the error stays";
  std::filesystem::remove(in_folder("denied"));
  EXPECT_THAT(refusal(list->is_denied(kFirst)), HasSubstr("cannot read the deny list"));
  replace(in_folder("denied"), "0a1b w-1\n");
  EXPECT_EQ(list->is_denied(kFirst), true);
}

TEST_F(DenyListFile, MustExistAndBeOfReasonableSize) {
  EXPECT_THAT(refusal(DenyList::open(in_folder("none")).map([](auto&&) {})),
              EndsWith("cannot read the deny list: No such file or directory"));
  std::filesystem::resize_file(make_file("huge", ""), kDenyListBytesMax + 1);
  EXPECT_THAT(refusal(DenyList::open(in_folder("huge")).map([](auto&&) {})),
              EndsWith("is longer than 16777216 bytes; is it a deny list?"));
}

TEST_F(DenyListFile, IsAskedByManyThreadsWhileItChanges) {
  const auto list = open("0a1b w-1\n");
  std::atomic<int> wrong_answers = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        if (list->is_denied(kFirst) != true) ++wrong_answers;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    replace(in_folder("denied"), i % 2 ? "0a1b w-1\n" : "ffee w-2\n0a1b w-1\n");
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_answers, 0);
}

}  // namespace
}  // namespace ballast::identity
