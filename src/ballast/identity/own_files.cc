#include "ballast/identity/own_files.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <string>

#include "ballast/files/text_file.h"
#include "ballast/identity/certificate.h"
#include "ballast/identity/openssl.h"

namespace ballast::identity {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> wrong(const fs::path& path, std::string_view what) {
  return invalid_argument(fmt::format("{}: {}", path.string(), what));
}

std::string time_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

Result<CertificatePtr> read_certificate(const fs::path& path) {
  BALLAST_TRY(const std::string pem, files::read_text(path, kPeerPemBytesMax));
  CertificatePtr certificate = certificate_from_pem(pem);
  if (!certificate) return wrong(path, "is not a certificate in PEM form");
  return certificate;
}

Result<KeyPtr> read_key(const fs::path& path) {
  BALLAST_TRY(const std::string pem, files::read_text(path, kPeerPemBytesMax));
  KeyPtr key = key_from_pem(pem);
  if (!key) return wrong(path, "is not a key in PEM form, or it has a password");
  return key;
}

// Of an authority or of one's own.
Status check_dates(const fs::path& path, X509& certificate, std::chrono::sys_seconds now) {
  const auto from = seconds_of(X509_get0_notBefore(&certificate));
  const auto until = seconds_of(X509_get0_notAfter(&certificate));
  if (!from || !until) return wrong(path, "has no valid dates");
  if (now >= *until) {
    return wrong(path, fmt::format("the certificate expired at {}; issue a new one with 'ballast "
                                   "ca issue'",
                                   time_text(*until)));
  }
  if (now < *from) {
    return wrong(path, fmt::format("the certificate is valid from {} on, and this machine's clock "
                                   "says {}",
                                   time_text(*from), time_text(now)));
  }
  return {};
}

Status check_signature(const OwnFiles& files, X509& certificate, X509& authority) {
  const bool is_issuer =
      X509_NAME_cmp(X509_get_issuer_name(&certificate), X509_get_subject_name(&authority)) == 0;
  if (is_issuer && X509_verify(&certificate, X509_get0_pubkey(&authority)) == 1) return {};
  return wrong(files.certificate,
               fmt::format("is not signed by the authority of {}; take the ca.crt of the folder "
                           "that issued it",
                           files.authority.string()));
}

}  // namespace

Result<PeerIdentity> check_own_files(const OwnFiles& files, Kind kind,
                                     std::chrono::sys_seconds now) {
  const ErrorScope errors;
  BALLAST_TRY(const CertificatePtr authority, read_certificate(files.authority));
  BALLAST_TRY(const CertificatePtr certificate, read_certificate(files.certificate));
  BALLAST_TRY(const KeyPtr key, read_key(files.key));
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return wrong(files.key, fmt::format("is not the key of {}", files.certificate.string()));
  }
  BALLAST_TRY_STATUS(check_signature(files, *certificate, *authority));
  BALLAST_TRY_STATUS(check_dates(files.authority, *authority, now));
  BALLAST_TRY_STATUS(check_dates(files.certificate, *certificate, now));
  BALLAST_TRY(const std::string pem, to_pem(*certificate));
  auto own = parse_peer(pem);
  if (!own) {
    return wrong(files.certificate, "is not a certificate that 'ballast ca issue' has made");
  }
  if (own->kind != kind) {
    return wrong(files.certificate,
                 fmt::format("is a {}'s certificate, and a {}'s is needed; see 'ballast ca issue "
                             "--help'",
                             to_string(own->kind), to_string(kind)));
  }
  return *std::move(own);
}

}  // namespace ballast::identity
