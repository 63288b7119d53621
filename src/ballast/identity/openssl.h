#pragma once
// Private to identity/: owners of OpenSSL's objects, and what its failures look like.

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::identity {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using BigNumberPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<X509_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, FreeWith<ASN1_TIME_free>>;

// Takes the errors of its scope out of the thread's queue. TLS on the same thread reads that queue,
// and would take a refused certificate for a broken connection.
class ErrorScope {
 public:
  ErrorScope() { ERR_set_mark(); }
  ~ErrorScope() { ERR_pop_to_mark(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
};

// What failed, and OpenSSL's reason where it gives one.
tl::unexpected<Error> openssl_error(std::string_view what);

}  // namespace ballast::identity
