#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "apps/ballast/commands.h"
#include "apps/ballast/interrupt.h"
#include "ballast/service/http.h"

namespace ballast::apps {
namespace {

using Json = nlohmann::json;

struct TopFlags {
  std::string address;
  bool is_once = false;
};

// HOST:PORT of "http://HOST:PORT/status", or of HOST:PORT itself.
std::string endpoint_of(std::string address) {
  constexpr std::string_view kScheme = "http://";
  if (address.starts_with(kScheme)) address.erase(0, kScheme.size());
  return address.substr(0, address.find('/'));
}

std::uint64_t refused_count(const Json& worker) {
  std::uint64_t refused = 0;
  for (const auto& [verdict, count] : worker["verdicts"].items()) {
    if (verdict != "accepted") refused += count.get<std::uint64_t>();
  }
  return refused;
}

std::string worker_line(const Json& worker) {
  return fmt::format("{:<20} {:<10} {:>9} {:>8} {:>7.1f} % {:>7.1f} % {:>6} {:>10.4g} {:>10.4g}\n",
                     worker["name"].get<std::string>(), worker["state"].get<std::string>(),
                     worker["count"].get<std::uint64_t>(), refused_count(worker),
                     100.0 * worker["weight_share"].get<double>(),
                     100.0 * worker["trimmed_share"].get<double>(),
                     worker["staleness"].get<std::uint64_t>(), worker["norm"].get<double>(),
                     worker["distance"].get<double>());
}

std::string page(const Json& status) {
  std::string text = fmt::format(
      "{}: {} of {} updates, version {}, life {}, checkpoint {}\n",
      status["run"].get<std::string>(), status["accepted"].get<std::uint64_t>(),
      status["updates"].get<std::uint64_t>(), status["version"].get<std::uint64_t>(),
      status["incarnation"].get<std::uint64_t>(), status["generation"].get<std::uint64_t>());
  if (const Json& evaluation = status["evaluation"]; !evaluation.is_null()) {
    text += fmt::format("accuracy {:.4f} after {} updates\n", evaluation["accuracy"].get<double>(),
                        evaluation["accepted"].get<std::uint64_t>());
  }
  text += fmt::format("the heaviest hold {:.1f} % of the weight, {:.1f} % at most so far\n",
                      100.0 * status["method"].value("heaviest_share", 0.0),
                      100.0 * status["method"].value("heaviest_share_max", 0.0));
  if (!status["paused"].is_null()) {
    text += fmt::format("paused: {}\n", status["paused"].get<std::string>());
  }
  text +=
      fmt::format("\n{:<20} {:<10} {:>9} {:>8} {:>9} {:>9} {:>6} {:>10} {:>10}\n", "worker",
                  "state", "accepted", "refused", "weight", "trimmed", "stale", "norm", "distance");
  for (const Json& worker : status["workers"]) text += worker_line(worker);
  return text;
}

Result<std::string> fetch_page(const std::string& endpoint) {
  BALLAST_TRY(const std::string body, service::http_get(endpoint, "/status"));
  try {
    return page(Json::parse(body));
  } catch (const Json::exception&) {
    return invalid_argument(fmt::format("{} is not the status of a Ballast server", endpoint));
  }
}

Status run_top(const TopFlags& flags) {
  constexpr const char* kClear = "\x1b[H\x1b[2J";
  const std::string endpoint = endpoint_of(flags.address);
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  const auto& stop = watch_for_interrupt();
  while (!stop) {
    BALLAST_TRY(const std::string text, fetch_page(endpoint));
    BALLAST_TRY_STATUS(print(is_terminal && !flags.is_once ? kClear + text : text));
    if (flags.is_once) return {};
    for (int i = 0; i < 10 && !stop; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  return {};
}

}  // namespace

void add_top_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<TopFlags>();
  CLI::App* command = app.add_subcommand("top", "watch a server that runs with --http");
  command->add_option("ADDRESS", flags->address, "HOST:PORT, or a URL")->required();
  command->add_flag("--once", flags->is_once, "print once and stop");
  command->callback([flags, &action] { action = [flags] { return run_top(*flags); }; });
}

}  // namespace ballast::apps
