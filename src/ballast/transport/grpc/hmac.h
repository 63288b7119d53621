#pragma once
// The key that seals tickets.

#include "ballast/base/error.h"
#include "ballast/wire/ticket.h"

namespace ballast::transport {

// HMAC-SHA256 under a fresh random key, which lives as long as the function. Tickets of an earlier
// start of the server are void anyway, so the key need not be kept.
//
// Thread-safety: the function may be called by many threads at once.
Result<wire::Mac> make_ticket_mac();

}  // namespace ballast::transport
