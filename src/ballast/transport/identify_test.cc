#include "ballast/transport/identify.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ballast/identity/test_authority.h"

namespace ballast::transport {
namespace {

using identity::kNow;
using std::chrono::days;

class Identifying : public identity::AuthorityTest {
 protected:
  void SetUp() override {
    AuthorityTest::SetUp();
    auto authority = make_authority();
    worker_ = content_of(issue(authority, worker("worker-1")).certificate_path);
    server_ = content_of(issue(authority, server("main")).certificate_path);
    identify_ = make_identify(list(), [this] { return now_; }).value();
  }
  std::filesystem::path list() { return in_folder("ca/denied"); }
  void write_list(const std::string& text) { std::ofstream(list()) << text; }

  Denial why(const std::string& pem) {
    const Identified name = identify_(pem);
    EXPECT_FALSE(name);
    return name ? Denial::kForeign : name.error().why;
  }

  std::chrono::sys_seconds now_ = kNow;
  std::string worker_, server_;
  Identify identify_;
};

TEST_F(Identifying, WorkersAreKnownByName) { EXPECT_EQ(identify_(worker_), "worker-1"); }

TEST_F(Identifying, OthersAreForeign) {
  EXPECT_EQ(why(server_), Denial::kForeign);
  EXPECT_EQ(why("nonsense"), Denial::kForeign);
}

TEST_F(Identifying, DatesAreToldApartAndPass) {
  now_ = kNow + days(400);
  EXPECT_EQ(why(worker_), Denial::kExpired);
  now_ = kNow - days(1);
  EXPECT_EQ(why(worker_), Denial::kNotYetValid);
  now_ = kNow;
  EXPECT_TRUE(identify_(worker_));
}

// What a certificate says is remembered, whether it is good is not.
TEST_F(Identifying, AWorkerThatIsKnownCanBeRevoked) {
  ASSERT_EQ(identify_(worker_), "worker-1");
  auto authority = identity::CertificateAuthority::open(in_folder("ca")).value();
  ASSERT_TRUE(authority.revoke("worker-1", identity::Revocation::kAll));
  EXPECT_EQ(why(worker_), Denial::kRevoked);
  EXPECT_EQ(why(worker_ + "x"), Denial::kForeign) << "nothing but the same bytes is known";
}

TEST_F(Identifying, RevokedIsRevokedWhateverTheClockSays) {
  auto authority = identity::CertificateAuthority::open(in_folder("ca")).value();
  ASSERT_TRUE(authority.revoke("worker-1", identity::Revocation::kAll));
  for (const auto now : {kNow, kNow + days(400), kNow - days(1)}) {
    now_ = now;
    EXPECT_EQ(why(worker_), Denial::kRevoked);
  }
}

TEST_F(Identifying, AListThatCannotBeReadDecidesNothingAndIsReadAgain) {
  const std::string before = content_of(list());
  write_list("half a li");
  EXPECT_EQ(why(worker_), Denial::kUnsure);
  std::filesystem::remove(list());
  EXPECT_EQ(why(worker_), Denial::kUnsure);
  // Its path is for the server's log, not for the peer.
  const Denied denied = identify_(worker_).error();
  EXPECT_NE(denied.detail.find("denied"), std::string::npos);
  EXPECT_EQ(told(denied).find("denied"), std::string::npos);
  write_list(before);
  EXPECT_TRUE(identify_(worker_));
}

}  // namespace
}  // namespace ballast::transport
