#pragma once
// A small certificate authority in a folder (ECDSA on P-256): it says who is a worker and who is a
// server, and takes it back.
//
// Every change is made under a lock of the folder and replaces whole files, so that commands may
// run at the same time and be stopped at any moment. Time is an argument.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/identity/issued_certificate.h"

namespace ballast::identity {

inline constexpr int kDaysMax = 36500;

// Certificates begin to be valid so long before they are made: clocks of other machines are late.
inline constexpr std::chrono::minutes kClockTolerance{5};

struct AuthorityOptions {
  std::string name = "ballast-ca";
  int days = 3650;
};

struct IssueRequest {
  std::string name;
  Kind kind = Kind::kWorker;
  std::vector<std::string> hosts = {};  // of a server: DNS names and IP addresses
  int days = 365;
  bool replace = false;            // deny the name's older certificates
  std::filesystem::path out = {};  // folder for NAME.key and NAME.crt; empty: the authority's own
};

struct IssuedFiles {
  IssuedCertificate certificate;
  std::filesystem::path key_path;
  std::filesystem::path certificate_path;
};

enum class Revocation {
  kAll,           // everything the name ever got
  kAllButNewest,  // what a rotation has left behind
};

enum class CertificateState { kValid, kExpired, kRevoked };
std::string_view to_string(CertificateState state) noexcept;

struct ListedCertificate {
  IssuedCertificate certificate;
  CertificateState state;  // revoked, even if it is expired as well
};

class CertificateAuthority {
 public:
  // Makes the folder with a new key (only its owner may read it), a self-signed certificate and
  // empty lists. A folder that exists is refused; after a failure there is none.
  static Result<CertificateAuthority> init(const std::filesystem::path& folder,
                                           const AuthorityOptions& options,
                                           std::chrono::sys_seconds now);

  // Refuses a folder that holds no authority. Its key is read when something is issued, so that it
  // may be kept elsewhere in between.
  static Result<CertificateAuthority> open(const std::filesystem::path& folder);

  // Makes a key and a certificate and writes NAME.key (mode 0600) and NAME.crt. A second
  // certificate for a name is a rotation: it replaces the files, and the older one stays valid
  // until it expires or is revoked, unless the request says otherwise. A name stays a worker's or a
  // server's.
  //
  // After a failure the files and lists are as before; only if the deny list cannot be written is
  // the new certificate there, and the message says so. If the process is killed between the two
  // renames, the files hold the new key and the older certificate: issue again.
  Result<IssuedFiles> issue(const IssueRequest& request, std::chrono::sys_seconds now);

  // Puts certificates of the name on the deny list and returns those that were not on it. A name
  // that never got one is an error.
  Result<std::vector<IssuedCertificate>> revoke(std::string_view name,
                                                Revocation which = Revocation::kAll);

  // Every certificate in the order of issue.
  Result<std::vector<ListedCertificate>> list(std::chrono::sys_seconds now) const;

  std::filesystem::path certificate_path() const;  // what servers and workers trust
  std::filesystem::path deny_list_path() const;

 private:
  explicit CertificateAuthority(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

}  // namespace ballast::identity
