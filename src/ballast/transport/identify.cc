#include "ballast/transport/identify.h"

#include <fmt/core.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "ballast/identity/deny_list.h"
#include "ballast/identity/peer.h"

namespace ballast::transport {
namespace {

tl::unexpected<Denied> denied(Denial why, std::string detail) {
  return tl::unexpected(Denied{.why = why, .detail = std::move(detail)});
}

// What certificates say, so that a peer which opens calls as fast as it can does not have each of
// them parse one. Whether they are good is asked anew every time.
//
// Thread-safety: any number of threads.
class KnownPeers {
 public:
  Result<identity::PeerIdentity> find_or_parse(std::string_view pem) {
    std::string key(pem);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = peers_.find(key); found != peers_.end()) return found->second;
    }
    BALLAST_TRY(auto peer, identity::parse_peer(pem));
    const std::lock_guard lock(mutex_);
    // Certificates of the authority alone come here; renewals make them more and more.
    if (peers_.size() >= kKnownPeersMax) peers_.clear();
    peers_.emplace(std::move(key), peer);
    return peer;
  }

 private:
  static constexpr std::size_t kKnownPeersMax = 4096;  // about 6 MB

  std::mutex mutex_;
  std::unordered_map<std::string, identity::PeerIdentity> peers_;
};

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
  const auto known = std::make_shared<KnownPeers>();
  return [list, known, clock = std::move(clock)](std::string_view pem) -> Identified {
    auto peer = known->find_or_parse(pem);
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
