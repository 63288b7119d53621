#include "ballast/identity/peer.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "ballast/identity/certificate.h"
#include "ballast/identity/name.h"
#include "ballast/identity/openssl.h"

namespace ballast::identity {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

std::string_view text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

// OpenSSL skips what it does not know and stops after the first certificate; a text that two
// readers could take for two different peers is refused here.
bool is_one_certificate(std::string_view pem) {
  const std::size_t last = pem.find_last_not_of(" \t\r\n");
  return pem.rfind("-----BEGIN ") == 0 && pem.starts_with(kBegin) &&
         pem.substr(0, last + 1).ends_with(kEnd);
}

std::optional<std::string> only_common_name(const X509& certificate) {
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  if (X509_NAME_entry_count(subject) != 1) return std::nullopt;
  const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, 0);
  if (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry)) != NID_commonName) return std::nullopt;
  return std::string(text_of(X509_NAME_ENTRY_get_data(entry)));
}

std::optional<std::string> only_uri(const X509& certificate) {
  const GeneralNamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::optional<std::string> uri;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    if (uri) return std::nullopt;
    uri = text_of(name->d.uniformResourceIdentifier);
  }
  return uri;
}

// OpenSSL reads the extensions into the certificate when it is first asked about them, so the
// certificate is not const here.
std::optional<Kind> only_kind(X509& certificate) {
  const std::uint32_t flags = X509_get_extension_flags(&certificate);
  if ((flags & (EXFLAG_INVALID | EXFLAG_CA)) != 0 || (flags & EXFLAG_XKUSAGE) == 0) {
    return std::nullopt;
  }
  switch (X509_get_extended_key_usage(&certificate)) {
    case XKU_SSL_CLIENT:
      return Kind::kWorker;
    case XKU_SSL_SERVER:
      return Kind::kServer;
    default:
      return std::nullopt;
  }
}

tl::unexpected<Error> foreign(std::string_view why) {
  return invalid_argument(
      fmt::format("the peer's certificate {}; use one that 'ballast ca issue' has made", why));
}

}  // namespace

std::string_view to_string(Kind kind) noexcept {
  return kind == Kind::kWorker ? "worker" : "server";
}

bool is_serial(std::string_view text) noexcept {
  constexpr std::size_t kDigitsMax = 40;
  return !text.empty() && text.size() <= kDigitsMax &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string identity_uri(Kind kind, std::string_view name) {
  return fmt::format("urn:ballast:{}:{}", to_string(kind), name);
}

Result<PeerIdentity> parse_peer(std::string_view pem) {
  const ErrorScope errors;
  if (pem.size() > kPeerPemBytesMax) {
    return foreign(fmt::format("is longer than {} bytes", kPeerPemBytesMax));
  }
  if (!is_one_certificate(pem)) return foreign("is not exactly one certificate in PEM form");
  const CertificatePtr certificate = certificate_from_pem(pem);
  if (!certificate) return foreign("cannot be decoded");
  const auto name = only_common_name(*certificate);
  if (!name || !is_name(*name)) return foreign("has no valid name");
  const auto kind = only_kind(*certificate);
  if (!kind) return foreign("is neither a worker's nor a server's");
  if (only_uri(*certificate) != identity_uri(*kind, *name)) {
    return foreign("has an URI that does not repeat its kind and name");
  }
  const auto serial = serial_of(*certificate);
  if (!serial) return foreign("has no valid serial number");
  const auto not_after = seconds_of(X509_get0_notAfter(certificate.get()));
  if (!not_after) return foreign("has no valid last day");
  const auto not_before = seconds_of(X509_get0_notBefore(certificate.get()));
  if (!not_before) return foreign("has no valid first day");
  return PeerIdentity{*name, *serial, *kind, *not_before, *not_after};
}

}  // namespace ballast::identity
