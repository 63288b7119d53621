#pragma once
// What `serve`, `work` and `cluster` have in common: certificates and log lines.

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "ballast/base/error.h"
#include "ballast/service/event.h"
#include "ballast/transport/server.h"

namespace ballast::apps {

struct TlsFlags {
  transport::TlsFiles files;
  bool is_insecure = false;
};
void add_tls_flags(CLI::App& command, TlsFlags& flags);

// The certificates, or none for --insecure-localhost; one of the two must be chosen.
Result<std::optional<transport::TlsFiles>> credentials_of(const TlsFlags& flags);

// Seconds since 1970.
std::chrono::sys_seconds wall_clock();

// Writes events to standard error, one JSON object per line.
service::EventSink json_log();

}  // namespace ballast::apps
