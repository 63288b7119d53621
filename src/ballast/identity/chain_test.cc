// What OpenSSL's own verification, which is what TLS uses, says about the certificates.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509_vfy.h>

#include "ballast/identity/test_authority.h"

namespace ballast::identity {
namespace {

using StorePtr = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreeWith<X509_STORE_CTX_free>>;

class Chain : public AuthorityTest {
 protected:
  // X509_V_OK, or the code of what is wrong with the certificate for this purpose at this time.
  static int verify(X509* certificate, X509* trusted, int purpose,
                    std::chrono::sys_seconds now = kNow) {
    const StorePtr store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), trusted);
    const StoreContextPtr context(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr);
    X509_STORE_CTX_set_purpose(context.get(), purpose);
    X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_X509_STRICT);
    X509_STORE_CTX_set_time(context.get(), 0, now.time_since_epoch().count());
    X509_verify_cert(context.get());
    return X509_STORE_CTX_get_error(context.get());
  }

  void SetUp() override {
    AuthorityTest::SetUp();
    auto authority = make_authority();
    root_ = read_certificate(authority.certificate_path());
    worker_ = read_certificate(issue(authority, worker("worker-1")).certificate_path);
    server_ = read_certificate(
        issue(authority, server("main", {"localhost", "train.example.org"})).certificate_path);
  }

  CertificatePtr root_, worker_, server_;
};

TEST_F(Chain, OfAWorkerIsGoodForClientsOnly) {
  EXPECT_EQ(verify(worker_.get(), root_.get(), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(verify(worker_.get(), root_.get(), X509_PURPOSE_SSL_SERVER),
            X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(Chain, OfAServerIsGoodForServersOnly) {
  EXPECT_EQ(verify(server_.get(), root_.get(), X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_EQ(verify(server_.get(), root_.get(), X509_PURPOSE_SSL_CLIENT),
            X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(Chain, OfAServerNamesItsHosts) {
  for (const char* host : {"localhost", "train.example.org"}) {
    EXPECT_EQ(X509_check_host(server_.get(), host, 0, 0, nullptr), 1) << host;
  }
  EXPECT_EQ(X509_check_host(server_.get(), "main", 0, 0, nullptr), 0);
  for (const char* address : {"127.0.0.1", "::1"}) {
    EXPECT_EQ(X509_check_ip_asc(server_.get(), address, 0), 1) << address;
  }
  EXPECT_EQ(X509_check_ip_asc(server_.get(), "127.0.0.2", 0), 0);
}

TEST_F(Chain, BeginsBeforeItsIssueAndEndsOnItsLastDay) {
  const auto at = [&](std::chrono::sys_seconds now) {
    return verify(worker_.get(), root_.get(), X509_PURPOSE_SSL_CLIENT, now);
  };
  EXPECT_EQ(at(kNow - std::chrono::minutes(4)), X509_V_OK);
  EXPECT_EQ(at(kNow - std::chrono::minutes(6)), X509_V_ERR_CERT_NOT_YET_VALID);
  EXPECT_EQ(at(kNow + days(365) - std::chrono::seconds(1)), X509_V_OK);
  EXPECT_EQ(at(kNow + days(365)), X509_V_ERR_CERT_HAS_EXPIRED);
}

// Both authorities have the same name, so that only the keys tell them apart.
TEST_F(Chain, OfAnotherAuthorityIsRefused) {
  auto other = make_authority("other");
  const auto stranger = read_certificate(issue(other, worker("worker-1")).certificate_path);
  EXPECT_NE(verify(stranger.get(), root_.get(), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(X509_verify(stranger.get(), X509_get0_pubkey(root_.get())), 0);
}

// Somebody who got a worker's key signs a certificate with it.
TEST_F(Chain, OfAWorkerCannotSign) {
  const auto key = key_from_pem(content_of(in_folder("ca/worker-1.key")));
  const auto forged =
      make_certificate({"forged", {kNow, kNow + days(1)}, {{NID_ext_key_usage, "clientAuth"}}},
                       *key, {worker_.get(), key.get()});
  ASSERT_TRUE(forged.has_value()) << forged.error().message;
  EXPECT_NE(verify(forged->get(), worker_.get(), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_NE(verify(forged->get(), root_.get(), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST_F(Chain, EndsAtARootThatSignsPeersOnly) {
  EXPECT_EQ(verify(root_.get(), root_.get(), X509_PURPOSE_ANY), X509_V_OK);
  EXPECT_EQ(X509_get_pathlen(root_.get()), 0);
  EXPECT_EQ(X509_get_key_usage(root_.get()), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
  for (const int nid : {NID_basic_constraints, NID_key_usage}) {
    const int at = X509_get_ext_by_NID(root_.get(), nid, -1);
    ASSERT_GE(at, 0);
    EXPECT_EQ(X509_EXTENSION_get_critical(X509_get_ext(root_.get(), at)), 1);
  }
}

TEST_F(Chain, UsesKeysOnP256AndSignaturesWithSha256) {
  for (X509* certificate : {root_.get(), worker_.get()}) {
    EXPECT_EQ(X509_get_signature_nid(certificate), NID_ecdsa_with_SHA256);
    char curve[32] = "";
    EVP_PKEY_get_group_name(X509_get0_pubkey(certificate), curve, sizeof curve, nullptr);
    EXPECT_STREQ(curve, "prime256v1");
  }
}

}  // namespace
}  // namespace ballast::identity
