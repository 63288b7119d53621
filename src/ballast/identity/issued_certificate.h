#pragma once
// What an authority remembers of a certificate.

#include <chrono>
#include <string>

#include "ballast/identity/peer.h"

namespace ballast::identity {

struct Validity {
  std::chrono::sys_seconds from;
  std::chrono::sys_seconds until;  // exclusive, as OpenSSL takes it
  bool operator==(const Validity&) const = default;
};

struct IssuedCertificate {
  std::string name;
  Kind kind = Kind::kWorker;
  Serial serial;
  Validity validity;
  bool operator==(const IssuedCertificate&) const = default;
};

}  // namespace ballast::identity
