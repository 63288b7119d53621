#include "ballast/transport/notices.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ballast::transport {
namespace {

constexpr std::size_t kWaitingMax = 64;
constexpr double kPerSecond = 1.0;

}  // namespace

std::string_view name(Notice::Kind kind) noexcept {
  switch (kind) {
    case Notice::Kind::kCallRefused:
      return "call-refused";
    case Notice::Kind::kJoinRefused:
      return "join-refused";
    case Notice::Kind::kWorkerDenied:
      return "worker-denied";
    case Notice::Kind::kDenyListUnreadable:
      return "deny-list-unreadable";
    case Notice::Kind::kDenyListReadable:
      return "deny-list-readable";
  }
  std::abort();
}

void Notices::add(Notice::Kind kind, std::string who, std::string why) {
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find_if(
      waiting_, [&](const Notice& notice) { return notice.kind == kind && notice.who == who; });
  if (same != waiting_.end()) {
    same->why = std::move(why);
    ++same->count;
  } else if (who.empty()) {
    waiting_.push_front({.kind = kind, .who = {}, .why = std::move(why)});
  } else if (waiting_.size() >= kWaitingMax) {
    ++left_out_;
  } else {
    waiting_.push_back({.kind = kind, .who = std::move(who), .why = std::move(why)});
  }
}

std::optional<Notice> Notices::next(Time now) {
  const std::lock_guard lock(mutex_);
  const std::chrono::duration<double> elapsed = now - allowed_at_.value_or(now);
  allowance_ = std::min(kBurst, allowance_ + kPerSecond * elapsed.count());
  allowed_at_ = now;
  if (waiting_.empty() || allowance_ < 1.0) return std::nullopt;
  allowance_ -= 1.0;
  Notice notice = std::move(waiting_.front());
  waiting_.pop_front();
  return notice;
}

std::uint64_t Notices::left_out_count() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace ballast::transport
