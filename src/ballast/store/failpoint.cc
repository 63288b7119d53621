#include "ballast/store/failpoint.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <tuple>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/nearest_word.h"

namespace ballast::store {
namespace {

constexpr std::array<std::string_view, 18> kNames = {"make-folder",
                                                     "create",
                                                     "allocate",
                                                     "write",
                                                     "sync",
                                                     "close",
                                                     "link",
                                                     "sync-folder",
                                                     "rename",
                                                     "remove",
                                                     "journal-open",
                                                     "journal-append",
                                                     "journal-cut",
                                                     "after-model",
                                                     "after-slots",
                                                     "after-commit",
                                                     "after-generation",
                                                     "journal-commit"};
constexpr std::string_view kAny = "any";

struct Armed {
  std::mutex mutex;
  Failpoint failpoint;
  std::uint64_t hits = 0;
};

Armed& armed() {
  static Armed instance;
  return instance;
}

Result<std::string> parse_name(std::string_view text) {
  if (text == kAny || std::ranges::count(kNames, text) > 0) return std::string(text);
  const auto nearest = nearest_word(text, kNames);
  return invalid_argument(
      fmt::format("there is no failpoint '{}'; {}", text,
                  nearest ? fmt::format("did you mean '{}'?", *nearest) : "use 'any' for all"));
}

Result<std::uint64_t> parse_hit(std::string_view text) {
  std::uint64_t hit = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), hit);
  if (failure == std::errc() && end == text.data() + text.size() && hit > 0) return hit;
  return invalid_argument(
      fmt::format("the hit of a failpoint is '{}'; it must be a whole number from 1 on", text));
}

Result<std::pair<FailpointAction, int>> parse_action(std::string_view text) {
  if (text == "kill") return std::pair(FailpointAction::kKill, 0);
  if (text == "eio") return std::pair(FailpointAction::kFail, EIO);
  if (text == "enospc") return std::pair(FailpointAction::kFail, ENOSPC);
  return invalid_argument(
      fmt::format("the action of a failpoint is '{}'; it must be kill, eio or enospc", text));
}

}  // namespace

std::atomic<bool> is_failpoint_set = false;

std::span<const std::string_view> failpoint_names() noexcept { return kNames; }

void set_failpoint(Failpoint failpoint) {
  BALLAST_CHECK(parse_name(failpoint.name).has_value(), "no such failpoint");
  const std::lock_guard lock(armed().mutex);
  armed().failpoint = std::move(failpoint);
  armed().hits = 0;
  is_failpoint_set = true;
}

void clear_failpoint() { is_failpoint_set = false; }

Status set_failpoint(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return invalid_argument(
        fmt::format("the failpoint is '{}'; write NAME:HIT:ACTION, as in sync:3:eio", text));
  }
  Failpoint failpoint;
  BALLAST_TRY(failpoint.name, parse_name(text.substr(0, first)));
  BALLAST_TRY(failpoint.hit, parse_hit(text.substr(first + 1, second - first - 1)));
  BALLAST_TRY(std::tie(failpoint.action, failpoint.error), parse_action(text.substr(second + 1)));
  set_failpoint(std::move(failpoint));
  return {};
}

Status set_failpoint_from_environment() {
  const char* text = std::getenv("BALLAST_FAILPOINT");
  return text != nullptr ? set_failpoint(std::string_view(text)) : Status();
}

std::uint64_t failpoint_hits() {
  const std::lock_guard lock(armed().mutex);
  return armed().hits;
}

int reach_failpoint(std::string_view name) {
  BALLAST_CHECK(std::ranges::count(kNames, name) == 1, "every failpoint is in the list");
  const std::lock_guard lock(armed().mutex);
  const Failpoint& failpoint = armed().failpoint;
  if (failpoint.name != kAny && failpoint.name != name) return 0;
  if (++armed().hits != failpoint.hit) return 0;
  if (failpoint.action == FailpointAction::kKill) ::raise(SIGKILL);
  return failpoint.error;
}

}  // namespace ballast::store
