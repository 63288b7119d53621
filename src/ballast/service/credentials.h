#pragma once
// Who may take part: certificates of one authority, less those on its deny list.

#include <filesystem>

#include "ballast/base/error.h"
#include "ballast/service/plan.h"
#include "ballast/transport/server.h"

namespace ballast::service {

struct ServerCredentials {
  transport::TlsFiles files;
  std::filesystem::path denied;  // the deny list
};

// Turns a worker's certificate into its name. Refuses certificates of another kind, expired ones,
// those on the deny list, and everybody while the list cannot be read.
//
// Thread-safety: the function may be called by several threads at once.
Result<transport::Identify> make_identify(const std::filesystem::path& denied, WallClock clock);

}  // namespace ballast::service
