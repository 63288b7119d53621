#pragma once
// What `serve`, `work` and `cluster` have in common: the specification, certificates, log lines.

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"
#include "ballast/service/event.h"
#include "ballast/transport/server.h"

namespace ballast::apps {

struct SpecFlags {
  std::string spec;
  std::vector<std::string> settings;
};
void add_spec_flags(CLI::App& command, SpecFlags& flags);
Result<experiment::Spec> read_spec(const SpecFlags& flags);

struct TlsFlags {
  transport::TlsFiles files;
  bool is_insecure = false;
};
void add_tls_flags(CLI::App& command, TlsFlags& flags);

// The certificates, or none for --insecure-localhost; one of the two must be chosen.
Result<std::optional<transport::TlsFiles>> credentials_of(const TlsFlags& flags);

// --threads N, of the aggregation; what `threads` holds is the default.
void add_threads_flag(CLI::App& command, std::size_t& threads);
void add_device_flag(CLI::App& command, std::string& device);

// Seconds since 1970.
std::chrono::sys_seconds wall_clock();

// Writes events to standard error, one JSON object per line.
service::EventSink json_log();

}  // namespace ballast::apps
