#include "ballast/identity/certificate_authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <thread>

#include "ballast/identity/deny_list.h"
#include "ballast/identity/test_authority.h"

namespace ballast::identity {
namespace {

using files::refusal;
using std::filesystem::perms;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class Authority : public AuthorityTest {
 protected:
  static std::string init_refusal(const std::filesystem::path& folder,
                                  const AuthorityOptions& options = {}) {
    return refusal(CertificateAuthority::init(folder, options, kNow));
  }

  // Everything in the authority's folder: name and content.
  std::map<std::string, std::string> snapshot() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(in_folder("ca"))) {
      files[entry.path().filename()] = entry.is_regular_file() ? content_of(entry.path()) : "";
    }
    return files;
  }

  // Refused with this text, and nothing in the folder has changed.
  void expect_refused(CertificateAuthority& authority, const IssueRequest& request,
                      const std::string& says) const {
    const auto before = snapshot();
    EXPECT_THAT(refusal(authority.issue(request, kNow)), HasSubstr(says));
    EXPECT_EQ(snapshot(), before);
  }

  static std::vector<CertificateState> states(const CertificateAuthority& authority,
                                              std::chrono::sys_seconds now = kNow) {
    std::vector<CertificateState> found;
    const auto listed = authority.list(now);
    EXPECT_TRUE(listed.has_value()) << listed.error().message;
    for (const ListedCertificate& entry : *listed) found.push_back(entry.state);
    return found;
  }
};

constexpr auto kValid = CertificateState::kValid;
constexpr auto kExpired = CertificateState::kExpired;
constexpr auto kRevoked = CertificateState::kRevoked;

TEST_F(Authority, BeginsWithAKeyThatOnlyItsOwnerCanRead) {
  make_authority();
  EXPECT_EQ(mode_of(in_folder("ca")), 0700u);
  EXPECT_EQ(mode_of(in_folder("ca/ca.key")), 0600u);
  EXPECT_THAT(names_in_folder(), ElementsAre("ca"));
  EXPECT_EQ(snapshot().size(), 4u);
}

TEST_F(Authority, NeverReplacesWhatExists) {
  make_authority();
  const auto before = snapshot();
  EXPECT_THAT(init_refusal(in_folder("ca")), HasSubstr("exists already and is left as it is"));
  EXPECT_THAT(init_refusal(in_folder("ca/")), HasSubstr("exists already"));
  EXPECT_EQ(snapshot(), before);
  std::filesystem::create_directory(in_folder("empty"));
  EXPECT_THAT(init_refusal(in_folder("empty")), HasSubstr("exists already"));
  EXPECT_THAT(init_refusal(make_file("file", "text")), HasSubstr("exists already"));
  EXPECT_THAT(names_in_folder(), ElementsAre("ca", "empty", "file"));
}

TEST_F(Authority, IsNotBegunHalfway) {
  EXPECT_THAT(init_refusal(in_folder("none/ca")), HasSubstr("none: cannot create a folder there"));
  EXPECT_THAT(init_refusal(in_folder("ca"), {.name = "My CA"}), HasSubstr("is not a name"));
  EXPECT_THAT(init_refusal(in_folder("ca"), {.days = 0}), HasSubstr("1 to 36500 days, not 0"));
  EXPECT_THAT(init_refusal(in_folder("ca"), {.days = 36501}), HasSubstr("not 36501"));
  EXPECT_THAT(names_in_folder(), ElementsAre());
}

TEST_F(Authority, IsOpenedWhereItIs) {
  EXPECT_THAT(refusal(CertificateAuthority::open(in_folder("ca"))),
              EndsWith("ca: holds no authority (no ca.crt); 'ballast ca init' makes one"));
  make_authority();
  EXPECT_TRUE(CertificateAuthority::open(in_folder("ca")).has_value());
}

TEST_F(Authority, WritesAKeyAndACertificateThatBelongTogether) {
  auto authority = make_authority();
  const auto files = issue(authority, worker("worker-1"));
  EXPECT_EQ(files.key_path, in_folder("ca/worker-1.key"));
  EXPECT_EQ(files.certificate_path, in_folder("ca/worker-1.crt"));
  EXPECT_EQ(mode_of(files.key_path), 0600u);
  const auto key = key_from_pem(content_of(files.key_path));
  const auto certificate = read_certificate(files.certificate_path);
  EXPECT_EQ(X509_check_private_key(certificate.get(), key.get()), 1);
  EXPECT_EQ(snapshot().size(), 6u) << "and nothing else";
}

TEST_F(Authority, WritesIntoAnotherFolderOnRequest) {
  auto authority = make_authority();
  std::filesystem::create_directory(in_folder("out"));
  auto request = worker("worker-1");
  request.out = in_folder("out");
  issue(authority, request);
  EXPECT_TRUE(std::filesystem::exists(in_folder("out/worker-1.key")));
  EXPECT_EQ(snapshot().size(), 4u);
  request.out = in_folder("none");
  expect_refused(authority, request, "cannot create: No such file or directory");
}

TEST_F(Authority, GivesRandomSerialNumbersOf128Bits) {
  auto authority = make_authority();
  const auto first = issue(authority, worker("worker-1")).certificate.serial.hex;
  const auto second = issue(authority, worker("worker-2")).certificate.serial.hex;
  EXPECT_NE(first, second);
  // Three leading zero bytes in both come once in 2^48 runs.
  EXPECT_GT(std::max(first.size(), second.size()), 26u);
  EXPECT_LE(std::max(first.size(), second.size()), 32u);
}

TEST_F(Authority, RefusesRequestsWithoutATrace) {
  auto authority = make_authority();
  issue(authority, worker("worker-1"));
  for (const char* name : {"", "Worker", "../up", "a b"}) {
    expect_refused(authority, worker(name), "is not a name");
  }
  expect_refused(authority, worker("ca"), "the authority's own name");
  expect_refused(authority, {.name = "w", .days = 0}, "1 to 36500 days, not 0");
  expect_refused(authority, {.name = "w", .days = -1}, "not -1");
  expect_refused(authority, {.name = "w", .days = 3651}, "expires on 2035-12-30");
  expect_refused(authority, {.name = "w", .hosts = {"localhost"}}, "has no hosts");
  expect_refused(authority, server("main", {}), "needs 1 to 64 hosts");
  expect_refused(authority, server("main", {"*"}), "neither a host name nor an IP address");
  expect_refused(authority, server("worker-1"), "worker-1 is the name of a worker");
}

TEST_F(Authority, RefusesAKeyThatOthersCanGetAt) {
  auto authority = make_authority();
  for (const int mode : {0604, 0640, 0620, 0602, 0666}) {
    std::filesystem::permissions(in_folder("ca/ca.key"), perms(mode));
    expect_refused(authority, worker("w"), "run 'chmod 600 " + in_folder("ca/ca.key").string());
  }
  std::filesystem::permissions(in_folder("ca/ca.key"), perms(0400));
  EXPECT_TRUE(authority.issue(worker("w"), kNow).has_value());
}

TEST_F(Authority, RefusesAKeyThatIsMissingALinkOrAnothers) {
  auto authority = make_authority();
  make_authority("other");
  const auto key = in_folder("ca/ca.key");
  std::filesystem::remove(key);
  expect_refused(authority, worker("w"), "ca.key: cannot read: No such file or directory");
  std::filesystem::create_symlink(in_folder("other/ca.key"), key);
  expect_refused(authority, worker("w"), "ca.key: is not a regular file");
  std::filesystem::remove(key);
  std::filesystem::copy_file(in_folder("other/ca.key"), key);
  expect_refused(authority, worker("w"), "ca.key: is not the key of ca.crt");
  std::ofstream(key) << "garbage";
  expect_refused(authority, worker("w"), "ca.key: cannot be decoded");
}

TEST_F(Authority, LeavesTheIndexAloneIfAFileCannotBeWritten) {
  auto authority = make_authority();
  std::filesystem::create_directory(in_folder("ca/w.crt"));
  expect_refused(authority, worker("w"), "w.crt: is not a regular file; move it away first");
}

TEST_F(Authority, RotatesACertificateAndKeepsTheOlderOneValid) {
  auto authority = make_authority();
  const auto first = issue(authority, worker("worker-1"));
  const auto second = issue(authority, worker("worker-1"));
  EXPECT_THAT(states(authority), ElementsAre(kValid, kValid));
  const auto now = parse_peer(content_of(second.certificate_path));
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->serial, second.certificate.serial);
  EXPECT_NE(now->serial, first.certificate.serial);
}

TEST_F(Authority, DeniesTheOlderOnesOnReplacement) {
  auto authority = make_authority();
  issue(authority, worker("worker-1"));
  issue(authority, worker("worker-2"));
  issue(authority, worker("worker-1"));
  auto request = worker("worker-1");
  request.replace = true;
  issue(authority, request);
  EXPECT_THAT(states(authority), ElementsAre(kRevoked, kValid, kRevoked, kValid));
}

TEST_F(Authority, RevokesEveryCertificateOfAName) {
  auto authority = make_authority();
  const auto first = issue(authority, worker("worker-1")).certificate;
  const auto second = issue(authority, worker("worker-1")).certificate;
  const auto other = issue(authority, worker("worker-2")).certificate;
  auto denied = DenyList::open(authority.deny_list_path());
  ASSERT_TRUE(denied.has_value()) << denied.error().message;
  EXPECT_EQ((*denied)->is_denied(first.serial), false);

  EXPECT_EQ(authority.revoke("worker-1"), (std::vector<IssuedCertificate>{first, second}));

  EXPECT_EQ((*denied)->is_denied(first.serial), true);
  EXPECT_EQ((*denied)->is_denied(second.serial), true);
  EXPECT_EQ((*denied)->is_denied(other.serial), false);
  EXPECT_THAT(states(authority), ElementsAre(kRevoked, kRevoked, kValid));
}

TEST_F(Authority, RevokesWhatARotationLeftBehind) {
  auto authority = make_authority();
  const auto first = issue(authority, worker("worker-1")).certificate;
  issue(authority, worker("worker-1"));
  EXPECT_EQ(authority.revoke("worker-1", Revocation::kAllButNewest), std::vector{first});
  EXPECT_THAT(states(authority), ElementsAre(kRevoked, kValid));
}

TEST_F(Authority, RevokesNothingTwice) {
  auto authority = make_authority();
  issue(authority, worker("worker-1"));
  ASSERT_TRUE(authority.revoke("worker-1").has_value());
  const auto before = snapshot();
  EXPECT_EQ(authority.revoke("worker-1"), std::vector<IssuedCertificate>());
  EXPECT_EQ(snapshot(), before);
}

TEST_F(Authority, RevokesWithoutItsKey) {
  auto authority = make_authority();
  issue(authority, worker("worker-1"));
  std::filesystem::remove(in_folder("ca/ca.key"));
  EXPECT_TRUE(authority.revoke("worker-1").has_value());
}

TEST_F(Authority, KnowsTheNamesItHasIssued) {
  auto authority = make_authority();
  EXPECT_EQ(refusal(authority.revoke("worker-1")),
            "no certificate was issued to 'worker-1'; 'ballast ca list' shows all names");
  issue(authority, worker("worker-1"));
  EXPECT_EQ(refusal(authority.revoke("workr-1")),
            "no certificate was issued to 'workr-1'; did you mean 'worker-1'?");
}

TEST_F(Authority, ListsWhatItHasIssued) {
  auto authority = make_authority();
  const auto issued = issue(authority, {.name = "w", .days = 10}).certificate;
  issue(authority, server("main"));
  EXPECT_EQ(authority.list(kNow)->at(0).certificate, issued);
  EXPECT_EQ(issued.validity, (Validity{kNow - std::chrono::minutes(5), kNow + days(10)}));
  EXPECT_THAT(states(authority, kNow + days(10) - std::chrono::seconds(1)),
              ElementsAre(kValid, kValid));
  EXPECT_THAT(states(authority, kNow + days(10)), ElementsAre(kExpired, kValid));
  ASSERT_TRUE(authority.revoke("w").has_value());
  EXPECT_THAT(states(authority, kNow + days(11)), ElementsAre(kRevoked, kValid));
}

TEST_F(Authority, SaysThatItsListsAreBroken) {
  auto authority = make_authority();
  make_file("ca/denied", "nonsense");
  EXPECT_THAT(refusal(authority.list(kNow)), HasSubstr("denied: line 1 is 'nonsense'"));
  make_file("ca/index.json", "nonsense");
  EXPECT_THAT(refusal(authority.list(kNow)), HasSubstr("index.json: is not a JSON object"));
  expect_refused(authority, worker("w"), "index.json: is not a JSON object");
}

TEST_F(Authority, LosesNothingWhenManyIssueAtOnce) {
  make_authority();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      auto authority = CertificateAuthority::open(in_folder("ca"));
      for (int i = 0; i < 5; ++i) issue(*authority, worker(std::string(1, char('a' + t))));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CertificateAuthority::open(in_folder("ca"))->list(kNow)->size(), 20u);
}

}  // namespace
}  // namespace ballast::identity
