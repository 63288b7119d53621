#pragma once
// Who may take part: certificates of one authority, less those on its deny list.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "ballast/base/error.h"
#include "ballast/service/plan.h"
#include "ballast/transport/server.h"

namespace ballast::service {

struct ServerCredentials {
  transport::TlsFiles files;
  std::filesystem::path denied;  // the deny list
};

// Look at one's own files before anything listens, connects or is made. The worker's certificate
// must be of that name.
Status check_credentials(const ServerCredentials& credentials, std::chrono::sys_seconds now);
Status check_credentials(const transport::TlsFiles& files, const std::string& worker,
                         std::chrono::sys_seconds now);

// Tells when a worker's files were replaced by others that are right.
//
// Thread-safety: none; one thread at a time.
class CertificateWatch {
 public:
  CertificateWatch(transport::TlsFiles files, std::string worker, WallClock clock);

  // True if the files have changed since the last time it said so, or since the start, and pass
  // check_credentials(). While they do not, as between the two renames of a rotation, `problem`
  // says why.
  bool has_new_files(std::string& problem);

 private:
  std::size_t fingerprint() const;

  transport::TlsFiles files_;
  std::string worker_;
  WallClock clock_;
  std::size_t used_;  // fingerprint of what the connection was made with
};

// Turns a worker's certificate into its name (transport/identify.h).
Result<transport::Identify> make_identify(const std::filesystem::path& denied, WallClock clock);

}  // namespace ballast::service
