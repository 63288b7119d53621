#pragma once
// Private to identity/: the files of an authority.
//
//   ca.key      the private key, readable by its owner only
//   ca.crt      the certificate that servers and workers trust
//   index.json  what was issued (issued_index.h)
//   denied      what was revoked (deny_list.h)

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/identity/deny_list.h"
#include "ballast/identity/issued_certificate.h"
#include "ballast/identity/openssl.h"

namespace ballast::identity {

// The authority's own certificate and key, which belong together.
struct Signer {
  CertificatePtr certificate;
  KeyPtr key;
};

class AuthorityFolder {
 public:
  explicit AuthorityFolder(std::filesystem::path path) : path_(std::move(path)) {}

  // Makes the folder with its four files, or nothing. A path that exists already is refused.
  Status create(std::string_view key_pem, std::string_view certificate_pem) const;

  // Refuses a key that other users could read or change, and one that is not the certificate's.
  Result<Signer> read_signer() const;

  Result<std::vector<IssuedCertificate>> read_index() const;
  Status write_index(const std::vector<IssuedCertificate>& issued) const;
  Result<std::vector<DeniedCertificate>> read_denied() const;
  Status write_denied(const std::vector<DeniedCertificate>& denied) const;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path key() const { return path_ / "ca.key"; }
  std::filesystem::path certificate() const { return path_ / "ca.crt"; }
  std::filesystem::path index() const { return path_ / "index.json"; }
  std::filesystem::path denied() const { return path_ / "denied"; }

 private:
  std::filesystem::path path_;
};

}  // namespace ballast::identity
