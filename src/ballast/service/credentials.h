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

// Turns a worker's certificate into its name (transport/identify.h).
Result<transport::Identify> make_identify(const std::filesystem::path& denied, WallClock clock);

}  // namespace ballast::service
