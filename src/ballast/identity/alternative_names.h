#pragma once
// Private to identity/: the names and addresses that a certificate is good for.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/identity/peer.h"

namespace ballast::identity {

inline constexpr std::size_t kHostsMax = 64;  // per certificate; it must fit a peer's PEM text

// The value of the extension subjectAltName: the identity's URI, then the hosts of a server, each a
// DNS name or an IP address. "localhost" stands for its two addresses as well. A server needs a
// host and a worker has none; wildcards and whatever is neither name nor address are refused.
//
// Requires: is_name(name).
Result<std::string> alternative_names(Kind kind, std::string_view name,
                                      const std::vector<std::string>& hosts);

}  // namespace ballast::identity
