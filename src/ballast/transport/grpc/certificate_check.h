#pragma once
// Asks who is behind certificates, and tells the log once when the deny list can no longer be read
// and once when it can again.
//
// Thread-safety: every function may be called from any thread.

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <string>
#include <string_view>

#include "ballast/transport/identify.h"
#include "ballast/transport/notices.h"

namespace ballast::transport {

// The status with which a call of such a certificate ends.
grpc::Status status_of(const Denied& denied);

// The certificate that TLS has verified for a call; empty without TLS.
std::string certificate_of(const grpc::ServerContextBase& context);

class CertificateCheck {
 public:
  // Without `identify` there is no TLS and every certificate is good, under no name.
  CertificateCheck(Identify identify, Notices& notices)
      : identify_(std::move(identify)), notices_(notices) {}

  Identified check(std::string_view certificate);

  bool is_unsure() const;

 private:
  void note(std::string_view reason);

  const Identify identify_;
  Notices& notices_;
  mutable std::mutex mutex_;
  std::string reason_;  // why the deny list cannot be read; empty if it can. Behind mutex_
};

}  // namespace ballast::transport
