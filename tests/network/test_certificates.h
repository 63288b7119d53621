#pragma once
// A throw-away authority for tests: P-256, valid for an hour, files in a folder of its own.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/transport/server.h"

namespace ballast::transport {

class TestAuthority {
 public:
  TestAuthority() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ballast-tls-XXXXXX").string();
    BALLAST_CHECK(mkdtemp(pattern.data()) != nullptr, "a temporary folder");
    folder_ = pattern;
    key_.reset(EVP_EC_gen("P-256"));
    certificate_ = sign("test authority", *key_, true);
    write("authority", *certificate_, *key_);
  }
  ~TestAuthority() { std::filesystem::remove_all(folder_); }
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  // Makes, or replaces, the files of a name.
  TlsFiles issue(const std::string& name) {
    const Key key(EVP_EC_gen("P-256"));
    const Certificate certificate = sign(name, *key, false);
    write(name, *certificate, *key);
    return {.authority = path("authority.crt"),
            .certificate = path(name + ".crt"),
            .key = path(name + ".key")};
  }

  std::string path(const std::string& file) const { return (folder_ / file).string(); }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;

  static void extend(X509& certificate, int kind, const char* value) {
    const std::unique_ptr<X509_EXTENSION, Free> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, kind, value));
    X509_add_ext(&certificate, extension.get(), -1);
  }

  Certificate sign(const std::string& name, EVP_PKEY& key, bool is_authority) {
    Certificate certificate(X509_new());
    X509* const x = certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(x), -60);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, &key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(is_authority ? x : certificate_.get()));
    extend(*x, NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    extend(*x, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_sign(x, key_.get(), EVP_sha256());
    return certificate;
  }

  // Renamed into place, so that a server that watches the file never reads half of it.
  void write(const std::string& name, X509& certificate, EVP_PKEY& key) const {
    for (const char* kind : {".key", ".crt"}) {
      const std::string final_path = path(name + kind), temporary = final_path + ".new";
      {
        const std::unique_ptr<std::FILE, Free> file(std::fopen(temporary.c_str(), "w"));
        if (std::string_view(kind) == ".crt") {
          PEM_write_X509(file.get(), &certificate);
        } else {
          PEM_write_PrivateKey(file.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
        }
      }
      std::filesystem::rename(temporary, final_path);
    }
  }

  std::filesystem::path folder_;
  int serial_ = 0;
  Key key_;
  Certificate certificate_;
};

// The common name of a PEM certificate.
inline Identified common_name(std::string_view pem) {
  BIO* const memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* const certificate = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  BIO_free(memory);
  if (certificate == nullptr) {
    return tl::unexpected(Denied{.why = Denial::kForeign, .detail = "not a certificate"});
  }
  char name[128] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof(name));
  X509_free(certificate);
  return std::string(name);
}

}  // namespace ballast::transport
