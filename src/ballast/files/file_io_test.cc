#include "ballast/files/file_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "ballast/files/test_support.h"

namespace ballast::files {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class FileIo : public FolderTest {
 protected:
  static Status write(const std::filesystem::path& path, std::string_view content) {
    const std::array pieces = {std::as_bytes(std::span(content))};
    return write_file_atomically(path, pieces);
  }
};

// Makes every write beyond so many bytes fail, as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_;
  void (*old_handler_)(int);
};

TEST_F(FileIo, ReadsAWholeFileIntoAlignedMemory) {
  const auto bytes = read_file(make_file("data", std::string("a\0\n\xff", 4)));
  ASSERT_TRUE(bytes.has_value()) << bytes.error().message;
  EXPECT_THAT(*bytes, ElementsAre(std::byte{'a'}, std::byte{0}, std::byte{'\n'}, std::byte{0xFF}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes->data()) % kCacheLineBytes, 0u);
}

TEST_F(FileIo, ReadsAnEmptyFile) {
  const auto bytes = read_file(make_file("empty", ""));
  ASSERT_TRUE(bytes.has_value()) << bytes.error().message;
  EXPECT_TRUE(bytes->empty());
}

TEST_F(FileIo, NamesTheFileThatIsMissing) {
  const auto bytes = read_file(in_folder("missing"));
  EXPECT_EQ(refusal(bytes),
            in_folder("missing").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(bytes.error().code, ErrorCode::kNotFound);
}

TEST_F(FileIo, RefusesFoldersAndPipesWithoutWaiting) {
  const auto pipe = in_folder("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(read_file(pipe)),
              EndsWith("is not a regular file; save the data to one first"));
  EXPECT_THAT(refusal(read_file(in_folder(""))), HasSubstr("is not a regular file"));
}

TEST_F(FileIo, NoticesAFileThatShrinksWhileItIsRead) {
  const auto path = make_file("data", "0123456789");
  const auto source = open_file(path);
  ASSERT_TRUE(source.has_value());
  std::filesystem::resize_file(path, 4);
  std::array<std::byte, 10> bytes;
  EXPECT_THAT(refusal((*source)->read(0, bytes)), StartsWith("the file shrank"));
}

TEST_F(FileIo, ReadsAnyPartOfAFile) {
  const auto source = open_file(make_file("data", "0123456789"));
  ASSERT_TRUE(source.has_value());
  std::array<std::byte, 3> bytes;
  ASSERT_TRUE((*source)->read(7, bytes).has_value());
  EXPECT_THAT(bytes, ElementsAre(std::byte{'7'}, std::byte{'8'}, std::byte{'9'}));
}

TEST(MemorySource, ReadsAnyPart) {
  const auto memory = bytes_of("0123456789");
  std::array<std::byte, 2> bytes;
  ASSERT_TRUE(MemorySource(memory).read(8, bytes).has_value());
  EXPECT_THAT(bytes, ElementsAre(std::byte{'8'}, std::byte{'9'}));
}

TEST(MemorySourceDeathTest, StaysInside) {
  const auto memory = bytes_of("0123456789");
  std::array<std::byte, 2> bytes;
  EXPECT_DEATH((void)MemorySource(memory).read(9, bytes), "reads stay inside");
  EXPECT_DEATH((void)MemorySource(memory).read(SIZE_MAX, bytes), "reads stay inside");
}

TEST(TryResize, ReportsThatMemoryIsShort) {
  AlignedVector<double> elements;
  EXPECT_THAT(refusal(try_resize(elements, SIZE_MAX / sizeof(double))),
              StartsWith("does not fit into memory"));
  EXPECT_THAT(refusal(try_resize(elements, SIZE_MAX)), StartsWith("does not fit into memory"));
}

TEST_F(FileIo, WritesThePiecesOneAfterTheOther) {
  const std::string_view first = "ab", second = "cd";
  const std::array pieces = {std::as_bytes(std::span(first)), std::as_bytes(std::span(second))};
  const auto path = in_folder("data");
  ASSERT_TRUE(write_file_atomically(path, pieces).has_value());
  EXPECT_EQ(content_of(path), "abcd");
  EXPECT_THAT(names_in_folder(), ElementsAre("data"));
}

TEST_F(FileIo, ReplacesAFileAndKeepsItsPermissions) {
  const auto path = make_file("data", "old and longer");
  std::filesystem::permissions(path, std::filesystem::perms{0640});
  ASSERT_TRUE(write(path, "new").has_value());
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0640});
  EXPECT_THAT(names_in_folder(), ElementsAre("data"));
}

TEST_F(FileIo, ReplacesTheFileBehindALink) {
  const auto path = make_file("data", "old");
  std::filesystem::create_symlink("data", in_folder("link"));
  ASSERT_TRUE(write(in_folder("link"), "new").has_value());
  EXPECT_EQ(content_of(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(in_folder("link")));
}

TEST_F(FileIo, WritesBesideWhatAStoppedProcessLeftBehind) {
  const std::string leftover = ".data." + std::to_string(::getpid()) + "-0.tmp";
  make_file(leftover, "half");
  ASSERT_TRUE(write(in_folder("data"), "new").has_value());
  EXPECT_EQ(content_of(in_folder("data")), "new");
  EXPECT_EQ(content_of(in_folder(leftover)), "half");
}

TEST_F(FileIo, LeavesTheOldFileAloneWhenTheDiskIsFull) {
  const auto path = make_file("data", "old");
  Status status;
  {
    const FileSizeLimit limit(1000);
    status = write(path, std::string(5000, 'x'));
  }
  EXPECT_EQ(refusal(status), path.string() + ": cannot write: File too large");
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_EQ(content_of(path), "old");
  EXPECT_THAT(names_in_folder(), ElementsAre("data"));
}

TEST_F(FileIo, RefusesToReplaceWhatIsNoFile) {
  const auto pipe = in_folder("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(write(pipe, "new")),
            pipe.string() + ": is not a regular file; name another one");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_THAT(names_in_folder(), ElementsAre("pipe"));
}

TEST_F(FileIo, SaysThatTheFolderIsMissing) {
  const auto path = in_folder("missing") / "data";
  EXPECT_EQ(refusal(write(path, "new")),
            path.string() + ": cannot open its folder: No such file or directory");
  EXPECT_THAT(refusal(write(make_file("file", "") / "data", "new")),
              EndsWith("cannot replace: Not a directory"));
}

TEST_F(FileIo, ShowsOddPathsOnOneLine) {
  EXPECT_THAT(refusal(read_file("no\nsuch\x1b")), StartsWith("no?such?: cannot open"));
}

}  // namespace
}  // namespace ballast::files
