#include "ballast/identity/openssl.h"

#include <fmt/format.h>

namespace ballast::identity {

tl::unexpected<Error> openssl_error(std::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return unsupported(fmt::format("{}: OpenSSL says: {}", what, reason ? reason : "no reason"));
}

}  // namespace ballast::identity
