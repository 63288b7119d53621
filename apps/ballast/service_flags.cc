#include "apps/ballast/service_flags.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace ballast::apps {

void add_tls_flags(CLI::App& command, TlsFlags& flags) {
  command.add_option("--ca", flags.files.authority, "certificate of the authority");
  command.add_option("--cert", flags.files.certificate, "this machine's own certificate");
  command.add_option("--key", flags.files.key, "and its key");
  command.add_flag("--insecure-localhost", flags.is_insecure,
                   "no certificates: for a quick try on this machine only");
}

Result<std::optional<transport::TlsFiles>> credentials_of(const TlsFlags& flags) {
  const transport::TlsFiles& files = flags.files;
  const bool has_some =
      !files.authority.empty() || !files.certificate.empty() || !files.key.empty();
  const bool has_all = !files.authority.empty() && !files.certificate.empty() && !files.key.empty();
  if (flags.is_insecure && has_some) {
    return invalid_argument("--insecure-localhost takes no certificates; leave out one of the two");
  }
  if (flags.is_insecure) return std::nullopt;
  if (!has_all) {
    return invalid_argument(
        "name --ca, --cert and --key ('ballast ca' makes them), or say --insecure-localhost");
  }
  return files;
}

std::chrono::sys_seconds wall_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

service::EventSink json_log() {
  auto logger = std::make_shared<spdlog::logger>("ballast",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%v");
  return [logger](const service::Event& event) {
    const auto now = std::chrono::system_clock::now();
    logger->info("{}",
                 service::log_line(event, std::chrono::floor<std::chrono::milliseconds>(now)));
  };
}

}  // namespace ballast::apps
