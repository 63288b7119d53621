#include "ballast/files/new_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

using testing::ElementsAre;
using testing::EndsWith;

class NewFile : public FolderTest {};

mode_t mode_of(const std::filesystem::path& path) {
  struct stat facts;
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777;
}

TEST_F(NewFile, HasItsPermissionsAndNeverReplacesAnother) {
  const auto path = in_folder("key");
  ASSERT_TRUE(write_new_file(path, "secret", kPrivate).has_value());
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(refusal(write_new_file(path, "other", kPrivate)),
            path.string() + ": cannot create: File exists");
  EXPECT_EQ(content_of(path), "secret");
}

TEST_F(NewFile, DoesNotFollowALink) {
  std::filesystem::create_symlink("target", in_folder("key"));
  EXPECT_FALSE(write_new_file(in_folder("key"), "secret", kPrivate).has_value());
  EXPECT_THAT(names_in_folder(), ElementsAre("key"));
}

TEST_F(NewFile, StagedReplacesItsTargetOnlyWhenToldTo) {
  const auto target = make_file("key", "old");
  {
    auto staged = StagedFile::write(target, "dropped", kPrivate);
    ASSERT_TRUE(staged.has_value()) << staged.error().message;
    EXPECT_EQ(content_of(target), "old");
  }
  EXPECT_THAT(names_in_folder(), ElementsAre("key"));
  auto staged = StagedFile::write(target, "new", kPrivate);
  ASSERT_TRUE(staged.has_value() && staged->put_in_place().has_value());
  EXPECT_EQ(content_of(target), "new");
  EXPECT_EQ(mode_of(target), 0600u);
  EXPECT_THAT(names_in_folder(), ElementsAre("key"));
}

TEST_F(NewFile, StagedRefusesATargetThatIsNoRegularFile) {
  std::filesystem::create_symlink("elsewhere", in_folder("link"));
  std::filesystem::create_directory(in_folder("folder"));
  for (const char* name : {"link", "folder"}) {
    EXPECT_THAT(refusal(StagedFile::write(in_folder(name), "text", kPublic).map([](auto&&) {})),
                EndsWith("is not a regular file; move it away first"));
  }
  EXPECT_THAT(names_in_folder(), ElementsAre("folder", "link"));
}

TEST_F(NewFile, LockIsHeldUntilItsEnd) {
  {
    const auto lock = lock_folder(in_folder(""));
    ASSERT_TRUE(lock.has_value()) << lock.error().message;
    const Descriptor other(::open(in_folder("").c_str(), O_RDONLY | O_DIRECTORY));
    EXPECT_NE(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  }
  EXPECT_TRUE(lock_folder(in_folder("")).has_value());
  EXPECT_THAT(refusal(lock_folder(in_folder("none")).map([](auto&&) {})),
              EndsWith("none: cannot open the folder: No such file or directory"));
}

}  // namespace
}  // namespace ballast::files
