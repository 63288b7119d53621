#include "ballast/transport/identify.h"

#include <fmt/core.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "ballast/identity/deny_list.h"
#include "ballast/identity/peer.h"

namespace ballast::transport {
namespace {

tl::unexpected<Denied> denied(Denial why, std::string detail) {
  return tl::unexpected(Denied{.why = why, .detail = std::move(detail)});
}

}  // namespace

std::string told(const Denied& denied) {
  switch (denied.why) {
    case Denial::kForeign:
      return denied.detail;  // of the certificate alone
    case Denial::kRevoked:
      return "the certificate was revoked";
    case Denial::kExpired:
      return "the certificate has expired; put a new one in its place";
    case Denial::kNotYetValid:
      return "the certificate is not yet valid; compare the clocks of worker and server";
    case Denial::kUnsure:
      return "the server cannot tell now who was revoked; try again";
  }
  std::abort();
}

Result<Identify> make_identify(const std::filesystem::path& deny_list, WallClock clock) {
  BALLAST_TRY(auto opened, identity::DenyList::open(deny_list));
  const std::shared_ptr<identity::DenyList> list = std::move(opened);
  return [list, clock = std::move(clock)](std::string_view pem) -> Identified {
    auto peer = identity::parse_peer(pem);
    if (!peer) return denied(Denial::kForeign, std::move(peer).error().message);
    if (peer->kind != identity::Kind::kWorker) {
      return denied(Denial::kForeign, "this is not a worker's certificate");
    }
    // Before the dates: a revoked certificate stays revoked, whatever the clock says.
    auto is_denied = list->is_denied(peer->serial);
    if (!is_denied) return denied(Denial::kUnsure, std::move(is_denied).error().message);
    if (*is_denied) return denied(Denial::kRevoked, fmt::format("{} was revoked", peer->name));
    const auto now = clock();
    if (now >= peer->not_after) {
      return denied(Denial::kExpired, fmt::format("that of {} has expired", peer->name));
    }
    if (now < peer->not_before) {
      return denied(Denial::kNotYetValid, fmt::format("that of {} is not yet valid", peer->name));
    }
    return std::move(peer->name);
  };
}

}  // namespace ballast::transport
