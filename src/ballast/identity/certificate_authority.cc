#include "ballast/identity/certificate_authority.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "ballast/base/nearest_word.h"
#include "ballast/files/error_text.h"
#include "ballast/files/new_file.h"
#include "ballast/identity/alternative_names.h"
#include "ballast/identity/authority_folder.h"
#include "ballast/identity/certificate.h"
#include "ballast/identity/name.h"

namespace ballast::identity {

using files::Descriptor;
using files::flush_folder;
using files::kPrivate;
using files::kPublic;
using files::lock_folder;
using files::StagedFile;

namespace {

constexpr std::string_view kReservedName = "ca";  // NAME.key would be the authority's own

Status check_days(int days) {
  if (days >= 1 && days <= kDaysMax) return {};
  return invalid_argument(
      fmt::format("a certificate is valid for 1 to {} days, not {}", kDaysMax, days));
}

Validity validity_from(std::chrono::sys_seconds now, int days) {
  return {now - kClockTolerance, now + std::chrono::days(days)};
}

std::vector<Extension> authority_extensions() {
  return {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
          {NID_key_usage, "critical,keyCertSign,cRLSign"},
          {NID_subject_key_identifier, "hash"}};
}

std::vector<Extension> peer_extensions(Kind kind, const std::string& names) {
  return {{NID_basic_constraints, "critical,CA:FALSE"},
          {NID_key_usage, "critical,digitalSignature"},
          {NID_ext_key_usage, kind == Kind::kWorker ? "clientAuth" : "serverAuth"},
          {NID_subject_key_identifier, "hash"},
          {NID_authority_key_identifier, "keyid:always"},
          {NID_subject_alt_name, names}};
}

// A certificate that outlives its authority would fail on a day that nobody has noted.
Status check_authority_lives(const X509& authority, const Validity& validity) {
  const auto end = seconds_of(X509_get0_notAfter(&authority));
  if (end && validity.until <= *end) return {};
  if (!end) return invalid_argument("the authority's certificate has no valid last day");
  return invalid_argument(fmt::format(
      "the authority itself expires on {:%Y-%m-%d}, before this certificate would; ask for fewer "
      "days, or start a new authority",
      fmt::gmtime(end->time_since_epoch().count())));
}

Status check_kind(const std::vector<IssuedCertificate>& issued, const IssueRequest& request) {
  for (const IssuedCertificate& earlier : issued) {
    if (earlier.name == request.name && earlier.kind != request.kind) {
      return invalid_argument(fmt::format("{} is the name of a {}; choose another one",
                                          request.name, to_string(earlier.kind)));
    }
  }
  return {};
}

struct Pair {
  IssuedCertificate certificate;
  std::string key_pem;
  std::string certificate_pem;
};

Result<Pair> make_pair(const IssueRequest& request, const std::string& names, const Signer& signer,
                       const Validity& validity) {
  BALLAST_TRY(const KeyPtr key, make_key());
  BALLAST_TRY(const CertificatePtr certificate,
              make_certificate({request.name, validity, peer_extensions(request.kind, names)}, *key,
                               {signer.certificate.get(), signer.key.get()}));
  BALLAST_TRY(std::string key_pem, to_pem(*key));
  BALLAST_TRY(std::string certificate_pem, to_pem(*certificate));
  const auto serial = serial_of(*certificate);
  if (!serial) return unsupported("OpenSSL gave no random numbers; try again");
  return Pair{{request.name, request.kind, *serial, validity},
              std::move(key_pem),
              std::move(certificate_pem)};
}

// The index comes between staging and renaming: what can fail has been done by then, and no
// certificate is out that the index does not know.
Status publish(const Pair& pair, const IssuedFiles& files, const AuthorityFolder& folder,
               const std::vector<IssuedCertificate>& issued) {
  BALLAST_TRY(StagedFile key, StagedFile::write(files.key_path, pair.key_pem, kPrivate));
  BALLAST_TRY(StagedFile certificate,
              StagedFile::write(files.certificate_path, pair.certificate_pem, kPublic));
  auto issued_now = issued;
  issued_now.push_back(pair.certificate);
  BALLAST_TRY_STATUS(folder.write_index(issued_now));
  Status placed = key.put_in_place();
  if (placed) placed = certificate.put_in_place();
  if (!placed) {
    (void)folder.write_index(issued);  // the first error is the one to tell
    return placed;
  }
  return flush_folder(files.key_path.parent_path());
}

std::set<Serial> serials_of(const std::vector<DeniedCertificate>& denied) {
  std::set<Serial> serials;
  for (const DeniedCertificate& entry : denied) serials.insert(entry.serial);
  return serials;
}

std::vector<IssuedCertificate> certificates_of(std::string_view name,
                                               const std::vector<IssuedCertificate>& issued) {
  std::vector<IssuedCertificate> found;
  std::copy_if(issued.begin(), issued.end(), std::back_inserter(found),
               [name](const IssuedCertificate& certificate) { return certificate.name == name; });
  return found;
}

tl::unexpected<Error> unknown_name(std::string_view name,
                                   const std::vector<IssuedCertificate>& issued) {
  std::vector<std::string_view> known;
  known.reserve(issued.size());
  for (const IssuedCertificate& certificate : issued) known.push_back(certificate.name);
  const auto nearest = nearest_word(name, known);
  return not_found(fmt::format(
      "no certificate was issued to {}; {}", files::in_quotes(name),
      nearest ? fmt::format("did you mean '{}'?", *nearest) : "'ballast ca list' shows all names"));
}

// Requires: the folder is locked.
Result<std::vector<IssuedCertificate>> deny(const AuthorityFolder& folder, std::string_view name,
                                            Revocation which) {
  BALLAST_TRY(const auto issued, folder.read_index());
  auto condemned = certificates_of(name, issued);
  if (condemned.empty()) return unknown_name(name, issued);
  if (which == Revocation::kAllButNewest) condemned.pop_back();
  BALLAST_TRY(auto denied, folder.read_denied());
  std::erase_if(condemned, [serials = serials_of(denied)](const IssuedCertificate& certificate) {
    return serials.contains(certificate.serial);
  });
  if (condemned.empty()) return condemned;
  for (const IssuedCertificate& certificate : condemned) {
    denied.push_back({certificate.serial, certificate.name});
  }
  BALLAST_TRY_STATUS(folder.write_denied(denied));
  return condemned;
}

Status deny_older(const AuthorityFolder& folder, const std::string& name) {
  const auto denied = deny(folder, name, Revocation::kAllButNewest);
  if (denied) return {};
  return tl::unexpected<Error>(
      Error{denied.error().code,
            fmt::format("{} has its new certificate, but the older ones are not denied yet: {}",
                        name, denied.error().message)});
}

}  // namespace

std::string_view to_string(CertificateState state) noexcept {
  switch (state) {
    case CertificateState::kValid:
      return "valid";
    case CertificateState::kExpired:
      return "expired";
    case CertificateState::kRevoked:
      return "revoked";
  }
  return "";
}

Result<CertificateAuthority> CertificateAuthority::init(const std::filesystem::path& folder,
                                                        const AuthorityOptions& options,
                                                        std::chrono::sys_seconds now) {
  BALLAST_TRY_STATUS(check_name(options.name));
  BALLAST_TRY_STATUS(check_days(options.days));
  BALLAST_TRY(const KeyPtr key, make_key());
  BALLAST_TRY(
      const CertificatePtr certificate,
      make_certificate({options.name, validity_from(now, options.days), authority_extensions()},
                       *key, {nullptr, key.get()}));
  BALLAST_TRY(const std::string key_pem, to_pem(*key));
  BALLAST_TRY(const std::string certificate_pem, to_pem(*certificate));
  BALLAST_TRY_STATUS(AuthorityFolder(folder).create(key_pem, certificate_pem));
  return CertificateAuthority(folder);
}

Result<CertificateAuthority> CertificateAuthority::open(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(AuthorityFolder(folder).certificate(), ignored)) {
    return not_found(fmt::format("{}: holds no authority (no ca.crt); 'ballast ca init' makes one",
                                 files::shown(folder)));
  }
  return CertificateAuthority(folder);
}

Result<IssuedFiles> CertificateAuthority::issue(const IssueRequest& request,
                                                std::chrono::sys_seconds now) {
  BALLAST_TRY_STATUS(check_name(request.name));
  if (request.name == kReservedName) {
    return invalid_argument("'ca' is the authority's own name; choose another one");
  }
  BALLAST_TRY_STATUS(check_days(request.days));
  BALLAST_TRY(const std::string names,
              alternative_names(request.kind, request.name, request.hosts));
  const AuthorityFolder folder(folder_);
  const Validity validity = validity_from(now, request.days);
  BALLAST_TRY(const Descriptor lock, lock_folder(folder_));
  BALLAST_TRY(const Signer signer, folder.read_signer());
  BALLAST_TRY_STATUS(check_authority_lives(*signer.certificate, validity));
  BALLAST_TRY(const auto issued, folder.read_index());
  BALLAST_TRY_STATUS(check_kind(issued, request));
  BALLAST_TRY(const Pair pair, make_pair(request, names, signer, validity));
  const std::filesystem::path& out = request.out.empty() ? folder_ : request.out;
  IssuedFiles files{pair.certificate, out / (request.name + ".key"), out / (request.name + ".crt")};
  BALLAST_TRY_STATUS(publish(pair, files, folder, issued));
  if (request.replace) BALLAST_TRY_STATUS(deny_older(folder, request.name));
  return files;
}

Result<std::vector<IssuedCertificate>> CertificateAuthority::revoke(std::string_view name,
                                                                    Revocation which) {
  BALLAST_TRY(const Descriptor lock, lock_folder(folder_));
  return deny(AuthorityFolder(folder_), name, which);
}

Result<std::vector<ListedCertificate>> CertificateAuthority::list(
    std::chrono::sys_seconds now) const {
  const AuthorityFolder folder(folder_);
  BALLAST_TRY(const auto issued, folder.read_index());
  BALLAST_TRY(const auto denied, folder.read_denied());
  const std::set<Serial> serials = serials_of(denied);
  std::vector<ListedCertificate> listed;
  for (const IssuedCertificate& certificate : issued) {
    auto state = CertificateState::kValid;
    if (now >= certificate.validity.until) state = CertificateState::kExpired;
    if (serials.contains(certificate.serial)) state = CertificateState::kRevoked;
    listed.push_back({certificate, state});
  }
  return listed;
}

std::filesystem::path CertificateAuthority::certificate_path() const {
  return AuthorityFolder(folder_).certificate();
}

std::filesystem::path CertificateAuthority::deny_list_path() const {
  return AuthorityFolder(folder_).denied();
}

}  // namespace ballast::identity
