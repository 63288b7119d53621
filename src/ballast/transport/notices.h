#pragma once
// What the log of a server should hear of its network and no worker's membership tells: who was
// turned away, and why. Peers cause these as often as they like, so those of one kind and one peer
// are counted together, only so many different ones wait, and they are told at a bounded rate. What
// is the server's own comes first.
//
// Thread-safety: every function may be called from any thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ballast::transport {

struct Notice {
  enum class Kind : std::uint8_t {
    kCallRefused,         // a call of a certificate that is not good, or of somebody not enrolled
    kJoinRefused,         // another protocol or another network
    kWorkerDenied,        // a stream that was open ended: revoked, expired
    kDenyListUnreadable,  // nobody is let in
    kDenyListReadable,    // again
  };
  Kind kind = Kind::kCallRefused;
  std::string who;  // a worker's name or an address; empty where it is the server itself
  std::string why;
  std::uint64_t count = 1;

  bool operator==(const Notice&) const = default;
};
std::string_view name(Notice::Kind kind) noexcept;

class Notices {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void add(Notice::Kind kind, std::string who, std::string why);

  // The next one to tell, if it is time for one: twenty at once, and then one each second.
  std::optional<Notice> next(Time now);

  // Those that came while too many different ones waited.
  std::uint64_t left_out_count() const;

 private:
  mutable std::mutex mutex_;
  std::deque<Notice> waiting_;
  std::uint64_t left_out_ = 0;
  double allowance_ = kBurst;
  std::optional<Time> allowed_at_;

  static constexpr double kBurst = 20.0;
};

}  // namespace ballast::transport
