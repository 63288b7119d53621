#pragma once
// Who is behind a certificate, and if nobody, why. Asked for every call, with every update, and
// every second for what is open.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::transport {

enum class Denial : std::uint8_t {
  kForeign,      // not a worker's certificate of ours
  kRevoked,      // on the deny list
  kExpired,      // a new one may be in place at the next try
  kNotYetValid,  // or one of the clocks is wrong
  kUnsure,       // the deny list cannot be read: nobody can be let in, and nobody is sent away
};

struct Denied {
  Denial why = Denial::kForeign;
  std::string detail;  // for the server's own log: it may name files of the server
};

// What the peer is told.
std::string told(const Denied& denied);

// The name that a client certificate (PEM) stands for.
//
// Thread-safety: may be called by several threads at once.
using Identified = tl::expected<std::string, Denied>;
using Identify = std::function<Identified(std::string_view certificate)>;

using WallClock = std::function<std::chrono::sys_seconds()>;

// Names of workers, by certificates that identity::CertificateAuthority has made, less those on the
// deny list, which is read again when it changes. Refuses a list that cannot be read now.
Result<Identify> make_identify(const std::filesystem::path& deny_list, WallClock clock);

}  // namespace ballast::transport
