#pragma once
// The three files with which a server or a worker proves who it is, looked at before it listens or
// connects: what is wrong with them is found at once and said with the file's name, instead of
// showing as a connection that nobody can make.

#include <chrono>
#include <filesystem>

#include "ballast/base/error.h"
#include "ballast/identity/peer.h"

namespace ballast::identity {

struct OwnFiles {
  std::filesystem::path authority;    // certificate of the authority
  std::filesystem::path certificate;  // one's own
  std::filesystem::path key;          // and its key
};

// Who the files make us. Refuses files that cannot be read or are of another kind, a key that is
// not the certificate's, a certificate that the authority did not sign, that is not valid now, or
// that is not for a server or a worker as `kind` says.
Result<PeerIdentity> check_own_files(const OwnFiles& files, Kind kind,
                                     std::chrono::sys_seconds now);

}  // namespace ballast::identity
