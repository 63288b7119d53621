#include "ballast/identity/certificate.h"

#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "ballast/base/check.h"
#include "ballast/identity/name.h"

namespace ballast::identity {
namespace {

constexpr int kSerialBytes = 16;
constexpr int kSerialBytesMax = 20;  // RFC 5280, 4.1.2.2

bool set_random_serial(X509& certificate) {
  std::array<unsigned char, kSerialBytes> bytes;
  if (RAND_bytes(bytes.data(), kSerialBytes) != 1) return false;
  const BigNumberPtr number(BN_bin2bn(bytes.data(), kSerialBytes, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_names(X509& certificate, const std::string& name, const X509& issuer) {
  X509_NAME* subject = X509_get_subject_name(&certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(name.data());
  return X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, text,
                                    static_cast<int>(name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) == 1;
}

TimePtr to_time(std::chrono::sys_seconds instant) {
  return TimePtr(ASN1_TIME_set(nullptr, instant.time_since_epoch().count()));
}

bool set_validity(X509& certificate, const Validity& validity) {
  const TimePtr from = to_time(validity.from);
  const TimePtr until = to_time(validity.until);
  return from && until && X509_set1_notBefore(&certificate, from.get()) == 1 &&
         X509_set1_notAfter(&certificate, until.get()) == 1;
}

bool add_extensions(X509& certificate, const std::vector<Extension>& extensions, X509& issuer) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  return std::all_of(extensions.begin(), extensions.end(), [&](const Extension& extension) {
    const ExtensionPtr made(
        X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value.c_str()));
    return made && X509_add_ext(&certificate, made.get(), -1) == 1;
  });
}

BioPtr reader_of(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int refuse_password(char*, int, int, void*) { return -1; }

template <typename Write>
Result<std::string> written(Write write) {
  const ErrorScope errors;
  const BioPtr memory(BIO_new(BIO_s_mem()));
  if (!memory || write(memory.get()) != 1) return openssl_error("cannot write PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

Result<KeyPtr> make_key() {
  const ErrorScope errors;
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("cannot make a key");
  return key;
}

Result<CertificatePtr> make_certificate(const CertificateFields& fields, EVP_PKEY& key,
                                        Issuer issuer) {
  BALLAST_CHECK(is_name(fields.name), "names are checked where they come in");
  const ErrorScope errors;
  CertificatePtr certificate(X509_new());
  if (!certificate) return openssl_error("cannot make a certificate");
  X509& signer = issuer.certificate ? *issuer.certificate : *certificate;
  const bool is_made =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 && set_random_serial(*certificate) &&
      set_names(*certificate, fields.name, signer) && set_validity(*certificate, fields.validity) &&
      X509_set_pubkey(certificate.get(), &key) == 1 &&
      add_extensions(*certificate, fields.extensions, signer) &&
      X509_sign(certificate.get(), issuer.key, EVP_sha256()) > 0;
  if (!is_made) return openssl_error("cannot make a certificate");
  return certificate;
}

Result<std::string> to_pem(const EVP_PKEY& key) {
  return written([&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, &key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

Result<std::string> to_pem(X509& certificate) {
  return written([&](BIO* out) { return PEM_write_bio_X509(out, &certificate); });
}

KeyPtr key_from_pem(std::string_view pem) {
  const ErrorScope errors;
  const BioPtr in = reader_of(pem);
  return KeyPtr(in ? PEM_read_bio_PrivateKey(in.get(), nullptr, refuse_password, nullptr)
                   : nullptr);
}

CertificatePtr certificate_from_pem(std::string_view pem) {
  const ErrorScope errors;
  const BioPtr in = reader_of(pem);
  return CertificatePtr(in ? PEM_read_bio_X509(in.get(), nullptr, refuse_password, nullptr)
                           : nullptr);
}

std::optional<Serial> serial_of(const X509& certificate) {
  const ErrorScope errors;
  const BigNumberPtr number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr));
  if (!number || BN_is_negative(number.get()) || BN_is_zero(number.get()) ||
      BN_num_bytes(number.get()) > kSerialBytesMax) {
    return std::nullopt;
  }
  char* digits = BN_bn2hex(number.get());
  if (digits == nullptr) return std::nullopt;
  Serial serial{digits};
  OPENSSL_free(digits);
  for (char& digit : serial.hex) {
    digit = static_cast<char>(std::tolower(static_cast<unsigned char>(digit)));
  }
  return serial;
}

std::optional<std::chrono::sys_seconds> seconds_of(const ASN1_TIME* time) {
  const ErrorScope errors;
  const TimePtr epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (!epoch || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) return std::nullopt;
  return std::chrono::sys_days(std::chrono::days(days)) + std::chrono::seconds(seconds);
}

}  // namespace ballast::identity
