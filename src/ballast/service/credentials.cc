#include "ballast/service/credentials.h"

#include <fmt/core.h>

#include <functional>
#include <utility>

#include "ballast/files/text_file.h"
#include "ballast/identity/deny_list.h"
#include "ballast/identity/own_files.h"

namespace ballast::service {
namespace {

identity::OwnFiles own_files(const transport::TlsFiles& files) {
  return {.authority = files.authority, .certificate = files.certificate, .key = files.key};
}

}  // namespace

Status check_credentials(const ServerCredentials& credentials, std::chrono::sys_seconds now) {
  BALLAST_TRY_STATUS(
      identity::check_own_files(own_files(credentials.files), identity::Kind::kServer, now));
  BALLAST_TRY_STATUS(identity::DenyList::open(credentials.denied));
  return {};
}

Status check_credentials(const transport::TlsFiles& files, const std::string& worker,
                         std::chrono::sys_seconds now) {
  BALLAST_TRY(const identity::PeerIdentity own,
              identity::check_own_files(own_files(files), identity::Kind::kWorker, now));
  if (own.name == worker) return {};
  return invalid_argument(fmt::format("{}: is the certificate of {}, but --name says {}",
                                      files.certificate, own.name, worker));
}

CertificateWatch::CertificateWatch(transport::TlsFiles files, std::string worker, WallClock clock)
    : files_(std::move(files)),
      worker_(std::move(worker)),
      clock_(std::move(clock)),
      used_(fingerprint()) {}

bool CertificateWatch::has_new_files(std::string& problem) {
  problem.clear();
  const std::size_t present = fingerprint();
  if (present == used_) return false;
  if (const Status checked = check_credentials(files_, worker_, clock_()); !checked) {
    problem = checked.error().message;
    return false;
  }
  used_ = present;
  return true;
}

std::size_t CertificateWatch::fingerprint() const {
  std::string all;
  for (const std::string& path : {files_.authority, files_.certificate, files_.key}) {
    all += files::read_text(path, identity::kPeerPemBytesMax).value_or("");
    all += '\0';
  }
  return std::hash<std::string>()(all);
}

Result<transport::Identify> make_identify(const std::filesystem::path& denied, WallClock clock) {
  return transport::make_identify(denied, std::move(clock));
}

}  // namespace ballast::service
