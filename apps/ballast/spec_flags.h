#pragma once
// What commands that take a specification have in common.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"

namespace ballast::apps {

struct SpecFlags {
  std::string spec;
  std::vector<std::string> settings;  // of --set
  std::string device;                 // as if it were set last; empty: as the specification says
};
void add_spec_flags(CLI::App& command, SpecFlags& flags);
void add_device_flag(CLI::App& command, SpecFlags& flags);

// The settings with that of the device.
std::vector<std::string> all_settings(const SpecFlags& flags);

// Requires: the name of a file.
Result<experiment::Spec> read_spec(const SpecFlags& flags);
Status apply_settings(experiment::Spec& spec, const SpecFlags& flags);

// --threads N. 0 is not taken, but may be what `threads` holds before: as the specification says.
void add_threads_flag(CLI::App& command, std::size_t& threads, const std::string& help);

// What the flag says, else the specification, else as many as the machine has.
std::size_t threads_of(std::size_t flag, const experiment::Spec& spec);

}  // namespace ballast::apps
