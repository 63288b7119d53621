#pragma once
// Certificates of a server or a worker, as `ballast ca` makes them (docs/certificates.md).

#include <string>

namespace ballast {

// PEM files, which are read again when they change.
struct TlsFiles {
  std::string authority;    // certificate of the CA that signs the other side
  std::string certificate;  // one's own
  std::string key;
};

}  // namespace ballast
