#include "ballast/service/event.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ballast::service {
namespace {

using Json = nlohmann::ordered_json;

std::string_view level_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  std::abort();
}

std::string time_text(std::chrono::sys_time<std::chrono::milliseconds> time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds.time_since_epoch().count()),
                     (time - seconds).count());
}

}  // namespace

std::string log_line(const Event& event, std::chrono::sys_time<std::chrono::milliseconds> time) {
  Json line = {
      {"time", time_text(time)}, {"level", level_of(event.severity)}, {"event", event.name}};
  for (const EventField& field : event.fields) {
    std::visit([&](const auto& value) { line[field.name] = value; }, field.value.any());
  }
  // Texts of the operating system and of peers need not be UTF-8.
  return line.dump(-1, ' ', true, Json::error_handler_t::replace);
}

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
