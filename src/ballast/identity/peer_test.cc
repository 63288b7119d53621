#include "ballast/identity/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/identity/name.h"
#include "ballast/identity/test_authority.h"

namespace ballast::identity {
namespace {

using files::refusal;
using testing::HasSubstr;
using testing::Not;

class Peer : public AuthorityTest {
 protected:
  void SetUp() override {
    AuthorityTest::SetUp();
    auto authority = make_authority();
    issued_ = issue(authority, worker("worker-1"));
    pem_ = content_of(issued_.certificate_path);
  }

  // A certificate of the name with other extensions, signed by its own key: parse_peer does not
  // look at signatures.
  static std::string pem_with(const std::string& name, std::vector<Extension> extensions) {
    const auto key = make_key();
    const auto certificate = make_certificate({name, {kNow, kNow + days(1)}, std::move(extensions)},
                                              **key, {nullptr, key->get()});
    EXPECT_TRUE(certificate.has_value()) << certificate.error().message;
    return *to_pem(**certificate);
  }

  IssuedFiles issued_;
  std::string pem_;
};

const Extension kClient{NID_ext_key_usage, "clientAuth"};
const Extension kUri{NID_subject_alt_name, "URI:urn:ballast:worker:w"};

TEST_F(Peer, IsReadFromAWorkersCertificate) {
  const auto peer = parse_peer(pem_);
  ASSERT_TRUE(peer.has_value()) << peer.error().message;
  EXPECT_EQ(peer->name, "worker-1");
  EXPECT_EQ(peer->kind, Kind::kWorker);
  EXPECT_EQ(peer->serial, issued_.certificate.serial);
  EXPECT_EQ(peer->not_before, issued_.certificate.validity.from);
  EXPECT_EQ(peer->not_after, kNow + days(365));
}

TEST_F(Peer, IsReadFromAServersCertificate) {
  auto authority = CertificateAuthority::open(in_folder("ca"));
  const auto files = issue(*authority, server("main"));
  const auto peer = parse_peer(content_of(files.certificate_path));
  ASSERT_TRUE(peer.has_value()) << peer.error().message;
  EXPECT_EQ(peer->name, "main");
  EXPECT_EQ(peer->kind, Kind::kServer);
}

TEST_F(Peer, ReadsTheLargestCertificateThatIsIssued) {
  std::vector<std::string> hosts;
  for (int i = 10; i < 74; ++i) {
    std::string host = std::to_string(i);
    while (host.size() < 250) host += ".a";
    hosts.push_back(host);
  }
  auto authority = CertificateAuthority::open(in_folder("ca"));
  const auto files = issue(*authority, server(std::string(63, 'x'), hosts));
  EXPECT_TRUE(parse_peer(content_of(files.certificate_path)).has_value());
}

TEST_F(Peer, MayEndInBlankLinesOrNone) {
  EXPECT_TRUE(parse_peer(pem_ + "\r\n \n").has_value());
  EXPECT_TRUE(parse_peer(pem_.substr(0, pem_.size() - 1)).has_value());
}

TEST_F(Peer, IsRefusedUnlessItIsExactlyOneCertificate) {
  const std::string key = content_of(issued_.key_path);
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string(1000, '\0'), std::string("hello"),
        std::string("-----BEGIN CERTIFICATE-----"), pem_ + pem_, "x\n" + pem_, pem_ + "x", key,
        pem_ + key, key + pem_, pem_.substr(0, pem_.size() / 2),
        std::string("-----BEGIN TRUSTED CERTIFICATE-----\n-----END CERTIFICATE-----")}) {
    EXPECT_THAT(refusal(parse_peer(text)), HasSubstr("is not exactly one certificate")) << text;
  }
}

TEST_F(Peer, IsRefusedIfItIsTooLong) {
  EXPECT_THAT(refusal(parse_peer(std::string(10'000'000, 'x'))), HasSubstr("is longer than 65536"));
  EXPECT_THAT(refusal(parse_peer(pem_ + std::string(10'000'000, ' '))),
              HasSubstr("is longer than"));
}

TEST_F(Peer, IsRefusedIfItCannotBeDecoded) {
  const std::string begin = "-----BEGIN CERTIFICATE-----\n";
  const std::string end = "-----END CERTIFICATE-----\n";
  for (const std::string& body :
       {std::string(), std::string("AAAA\n"), std::string("!!!!\n"), std::string(60000, 'A') + "\n",
        pem_.substr(begin.size(), 64), std::string(30000, '\0')}) {
    EXPECT_THAT(refusal(parse_peer(begin + body + end)), HasSubstr("cannot be decoded"));
  }
}

// OpenSSL would ask for the password at the terminal.
TEST_F(Peer, IsRefusedIfItIsEncrypted) {
  const std::string text =
      "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\n"
      "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAAAAAAAAAAAAAAAAAAAA==\n"
      "-----END CERTIFICATE-----\n";
  EXPECT_THAT(refusal(parse_peer(text)), HasSubstr("cannot be decoded"));
}

TEST_F(Peer, SurvivesEveryTruncationAndEveryChangedCharacter) {
  for (std::size_t at = 0; at < pem_.size(); ++at) {
    SCOPED_TRACE(at);
    EXPECT_EQ(parse_peer(pem_.substr(0, at)).has_value(), at + 1 == pem_.size());
    std::string changed = pem_;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    const auto peer = parse_peer(changed);
    if (peer) {
      EXPECT_TRUE(is_name(peer->name));
    } else {
      EXPECT_THAT(peer.error().message, Not(HasSubstr("\n")));
    }
  }
}

TEST_F(Peer, IsRefusedIfItIsNotOneOfOurs) {
  EXPECT_TRUE(parse_peer(pem_with("w", {kClient, kUri})).has_value()) << "the others differ in one";
  const auto says = [](const std::string& name, std::vector<Extension> extensions) {
    return refusal(parse_peer(pem_with(name, std::move(extensions))));
  };
  EXPECT_THAT(says("v", {kClient, kUri}), HasSubstr("does not repeat its kind and name"));
  EXPECT_THAT(says("w", {kClient}), HasSubstr("does not repeat its kind and name"));
  EXPECT_THAT(says("w", {{NID_ext_key_usage, "serverAuth"}, kUri}), HasSubstr("does not repeat"));
  EXPECT_THAT(
      says("w",
           {kClient, {NID_subject_alt_name, "URI:urn:ballast:worker:w,URI:urn:ballast:worker:v"}}),
      HasSubstr("does not repeat its kind and name"));
  EXPECT_THAT(says("w", {kUri}), HasSubstr("is neither a worker's nor a server's"));
  EXPECT_THAT(says("w", {{NID_ext_key_usage, "clientAuth,serverAuth"}, kUri}),
              HasSubstr("is neither a worker's nor a server's"));
  EXPECT_THAT(says("w", {{NID_basic_constraints, "critical,CA:TRUE"}, kClient, kUri}),
              HasSubstr("is neither a worker's nor a server's"));
}

TEST_F(Peer, IsNotTheAuthorityItself) {
  EXPECT_THAT(refusal(parse_peer(content_of(in_folder("ca/ca.crt")))),
              HasSubstr("is neither a worker's nor a server's"));
}

TEST_F(Peer, IsRefusedIfItsNameIsNotOneName) {
  const auto key = make_key();
  const auto pem_of_subject = [&](int nid, std::string_view text, int count) {
    auto certificate = make_certificate({"w", {kNow, kNow + days(1)}, {kClient, kUri}}, **key,
                                        {nullptr, key->get()});
    X509_NAME* subject = X509_get_subject_name(certificate->get());
    X509_NAME_ENTRY_free(X509_NAME_delete_entry(subject, 0));
    for (int i = 0; i < count; ++i) {
      X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(text.data()),
                                 static_cast<int>(text.size()), -1, 0);
    }
    X509_sign(certificate->get(), key->get(), EVP_sha256());
    return *to_pem(**certificate);
  };
  EXPECT_TRUE(parse_peer(pem_of_subject(NID_commonName, "w", 1)).has_value());
  for (const std::string& pem :
       {pem_of_subject(NID_commonName, "w", 0), pem_of_subject(NID_commonName, "w", 2),
        pem_of_subject(NID_organizationName, "w", 1), pem_of_subject(NID_commonName, "W", 1),
        pem_of_subject(NID_commonName, std::string_view("w\0x", 3), 1),
        pem_of_subject(NID_commonName, "w\n", 1), pem_of_subject(NID_commonName, "../w", 1)}) {
    EXPECT_THAT(refusal(parse_peer(pem)), HasSubstr("has no valid name"));
  }
}

TEST_F(Peer, IsRefusedWithoutAPositiveSerialOfTwentyBytes) {
  const auto key = make_key();
  const auto pem_of_serial = [&](const char* digits) {
    auto certificate = make_certificate({"w", {kNow, kNow + days(1)}, {kClient, kUri}}, **key,
                                        {nullptr, key->get()});
    BIGNUM* number = nullptr;
    BN_hex2bn(&number, digits);
    const BigNumberPtr owner(number);
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate->get()));
    X509_sign(certificate->get(), key->get(), EVP_sha256());
    return *to_pem(**certificate);
  };
  EXPECT_EQ(parse_peer(pem_of_serial("0A1B"))->serial.hex, "0a1b");
  EXPECT_EQ(parse_peer(pem_of_serial(std::string(40, 'F').c_str()))->serial.hex,
            std::string(40, 'f'));
  for (const std::string& digits : {std::string("0"), std::string("-5"), std::string(42, 'F')}) {
    EXPECT_THAT(refusal(parse_peer(pem_of_serial(digits.c_str()))),
                HasSubstr("has no valid serial number"));
  }
}

TEST_F(Peer, LeavesTheErrorQueueOfTheThreadAlone) {
  ERR_clear_error();
  ERR_raise(ERR_LIB_USER, 7);
  (void)parse_peer("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), 7);
  EXPECT_EQ(ERR_get_error(), 0u);
}

}  // namespace
}  // namespace ballast::identity
