#include "ballast/service/credentials.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "ballast/identity/deny_list.h"
#include "ballast/identity/peer.h"

namespace ballast::service {

Result<transport::Identify> make_identify(const std::filesystem::path& denied, WallClock clock) {
  BALLAST_TRY(auto opened, identity::DenyList::open(denied));
  const std::shared_ptr<identity::DenyList> list = std::move(opened);
  return [list, clock = std::move(clock)](std::string_view pem) -> Result<std::string> {
    BALLAST_TRY(identity::PeerIdentity peer, identity::parse_peer(pem));
    if (peer.kind != identity::Kind::kWorker) {
      return invalid_argument("this is not a worker's certificate");
    }
    if (clock() >= peer.not_after) {
      return invalid_argument(fmt::format("the certificate of {} has expired", peer.name));
    }
    BALLAST_TRY(const bool is_denied, list->is_denied(peer.serial));
    if (is_denied) {
      return invalid_argument(fmt::format("the certificate of {} is revoked", peer.name));
    }
    return std::move(peer.name);
  };
}

}  // namespace ballast::service
