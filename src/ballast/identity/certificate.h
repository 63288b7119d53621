#pragma once
// Private to identity/: keys and certificates made and read by OpenSSL.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/identity/issued_certificate.h"
#include "ballast/identity/openssl.h"
#include "ballast/identity/peer.h"

namespace ballast::identity {

// An extension as OpenSSL's configuration files write it. The value must not be taken from outside
// unchecked: a comma in it begins the next value.
struct Extension {
  int nid;
  std::string value;
};

struct CertificateFields {
  std::string name;
  Validity validity;
  std::vector<Extension> extensions;
};

// Who signs. Without a certificate the new one is signed by its own key.
struct Issuer {
  X509* certificate;
  EVP_PKEY* key;
};

// A new key on the curve P-256.
Result<KeyPtr> make_key();

// A certificate for the key, with a random serial number of 128 bits.
// Requires: is_name(fields.name).
Result<CertificatePtr> make_certificate(const CertificateFields& fields, EVP_PKEY& key,
                                        Issuer issuer);

Result<std::string> to_pem(const EVP_PKEY& key);
Result<std::string> to_pem(X509& certificate);

// The first key or certificate of the text; null if there is none. Encrypted ones are not read:
// OpenSSL would ask for a password at the terminal.
// Requires: pem.size() fits an int.
KeyPtr key_from_pem(std::string_view pem);
CertificatePtr certificate_from_pem(std::string_view pem);

// Nothing if the number is not positive or longer than the 20 bytes that RFC 5280 allows.
std::optional<Serial> serial_of(const X509& certificate);

// Nothing if the time is malformed.
std::optional<std::chrono::sys_seconds> seconds_of(const ASN1_TIME* time);

}  // namespace ballast::identity
