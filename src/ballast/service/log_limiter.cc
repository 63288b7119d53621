#include "ballast/service/log_limiter.h"

#include <algorithm>
#include <utility>

namespace ballast::service {

std::optional<std::uint64_t> LogLimiter::spend(std::uint32_t worker, Time now) {
  Account& account = accounts_[worker];
  account.credit = std::min<std::chrono::duration<double>>(
      account.credit + (now - std::exchange(account.since, now)), kBurst * kPause);
  if (account.credit < kPause) {
    ++account.left_out;
    return std::nullopt;
  }
  account.credit -= kPause;
  return std::exchange(account.left_out, 0);
}

}  // namespace ballast::service
