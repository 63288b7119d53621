#include "ballast/transport/grpc/certificate_check.h"

#include <utility>

namespace ballast::transport {

grpc::Status status_of(const Denied& denied) {
  const bool is_final = denied.why == Denial::kForeign || denied.why == Denial::kRevoked;
  return {is_final ? grpc::StatusCode::PERMISSION_DENIED : grpc::StatusCode::UNAVAILABLE,
          told(denied)};
}

std::string certificate_of(const grpc::ServerContextBase& context) {
  const auto found = context.auth_context()->FindPropertyValues("x509_pem_cert");
  if (found.empty()) return {};
  return {found.front().data(), found.front().size()};
}

Identified CertificateCheck::check(std::string_view certificate) {
  if (!identify_) return std::string();
  Identified name = identify_(certificate);
  if (name || name.error().why == Denial::kRevoked) {
    note("");
  } else if (name.error().why == Denial::kUnsure) {
    note(name.error().detail);
  }
  return name;
}

bool CertificateCheck::is_unsure() const {
  const std::lock_guard lock(mutex_);
  return !reason_.empty();
}

void CertificateCheck::note(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (reason_ == reason) return;
  reason_ = reason;
  if (reason.empty()) {
    notices_.add(Notice::Kind::kDenyListReadable, "", "workers are let in again");
  } else {
    notices_.add(Notice::Kind::kDenyListUnreadable, "", reason_);
  }
}

}  // namespace ballast::transport
