#pragma once
// Who is at the other end of a connection, read from the certificate that TLS has verified.
//
// The authority writes the name twice: as the common name, and in the URI urn:ballast:KIND:NAME.
// A certificate in which they differ, or which is good for more than its kind, is not one of ours.

#include <chrono>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::identity {

enum class Kind {
  kWorker,  // may open connections (clientAuth)
  kServer,  // may answer them (serverAuth)
};
std::string_view to_string(Kind kind) noexcept;

// The number that the authority gave a certificate, as lower-case hexadecimal digits.
struct Serial {
  std::string hex;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the defaulted body for a 0
  auto operator<=>(const Serial&) const = default;
};

// Whether a text can be a Serial: at most the 20 bytes that RFC 5280 allows.
bool is_serial(std::string_view text) noexcept;

struct PeerIdentity {
  std::string name;
  Serial serial;
  Kind kind = Kind::kWorker;
  std::chrono::sys_seconds not_before;  // the first second of its validity
  std::chrono::sys_seconds not_after;   // expired from this second on
};

// Longer texts are refused unread; a certificate of ours has about 1000 bytes.
inline constexpr std::size_t kPeerPemBytesMax = 64 * 1024;

// The URI that a certificate carries beside its common name.
std::string identity_uri(Kind kind, std::string_view name);

// Reads one certificate in PEM form. Any bytes are safe to pass: what is not exactly one
// certificate as `CertificateAuthority::issue` makes them is an error, which quotes nothing from
// the input.
//
// Does not check the signature, the dates or the deny list: TLS has checked the first two when the
// connection began; the caller compares the dates and asks DenyList on every call.
//
// Cost: about 50 microseconds. Thread-safety: any number of threads; leaves OpenSSL's error queue
// as it was.
Result<PeerIdentity> parse_peer(std::string_view pem);

}  // namespace ballast::identity
