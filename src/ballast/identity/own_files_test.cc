#include "ballast/identity/own_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "ballast/identity/test_authority.h"

namespace ballast::identity {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OwnFilesTest : public AuthorityTest {
 protected:
  OwnFiles files_of(const IssuedFiles& issued) const {
    return {.authority = ca_->certificate_path(),
            .certificate = issued.certificate_path,
            .key = issued.key_path};
  }
  static std::string error_of(const OwnFiles& files, Kind kind = Kind::kWorker,
                              std::chrono::sys_seconds now = kNow) {
    const auto own = check_own_files(files, kind, now);
    return own ? "no error" : own.error().message;
  }

  void SetUp() override {
    AuthorityTest::SetUp();
    ca_.emplace(make_authority());
    first_ = issue(*ca_, worker("worker-1"));
    second_ = issue(*ca_, worker("worker-2"));
  }

  std::optional<CertificateAuthority> ca_;
  IssuedFiles first_, second_;
};

TEST_F(OwnFilesTest, SayWhoWeAre) {
  const auto own = check_own_files(files_of(first_), Kind::kWorker, kNow);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->name, "worker-1");
}

TEST_F(OwnFilesTest, AFileThatIsMissingIsNamed) {
  for (const auto member : {&OwnFiles::authority, &OwnFiles::certificate, &OwnFiles::key}) {
    OwnFiles files = files_of(first_);
    files.*member = in_folder("nowhere.pem");
    EXPECT_THAT(error_of(files), AllOf(HasSubstr("nowhere.pem"), HasSubstr("No such file")));
  }
}

TEST_F(OwnFilesTest, AFileOfAnotherKindIsNamed) {
  const auto other = in_folder("text.pem");
  std::ofstream(other) << "hello\n";
  for (const auto member : {&OwnFiles::authority, &OwnFiles::certificate, &OwnFiles::key}) {
    OwnFiles files = files_of(first_);
    files.*member = other;
    EXPECT_THAT(error_of(files), AllOf(HasSubstr("text.pem"), HasSubstr("PEM")));
  }
}

TEST_F(OwnFilesTest, TheKeyOfAnotherIsRefused) {
  OwnFiles files = files_of(first_);
  files.key = second_.key_path;
  EXPECT_THAT(error_of(files), HasSubstr("is not the key of"));
}

TEST_F(OwnFilesTest, AnotherAuthorityOfTheSameNameIsRefused) {
  OwnFiles files = files_of(first_);
  files.authority = make_authority("other").certificate_path();
  EXPECT_THAT(error_of(files), HasSubstr("is not signed by the authority"));
}

TEST_F(OwnFilesTest, TheTimesAreLookedAt) {
  EXPECT_THAT(error_of(files_of(first_), Kind::kWorker, kNow + days(400)), HasSubstr("expired"));
  EXPECT_THAT(error_of(files_of(first_), Kind::kWorker, kNow - days(1)), HasSubstr("clock"));
}

TEST_F(OwnFilesTest, AServerNeedsAServersCertificate) {
  EXPECT_THAT(error_of(files_of(first_), Kind::kServer), HasSubstr("is a worker's certificate"));
  EXPECT_EQ(error_of(files_of(issue(*ca_, server("main"))), Kind::kServer), "no error");
}

}  // namespace
}  // namespace ballast::identity
