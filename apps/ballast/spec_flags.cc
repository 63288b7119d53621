#include "apps/ballast/spec_flags.h"

#include "ballast/base/parallel.h"
#include "ballast/kernels/backend.h"

namespace ballast::apps {

void add_spec_flags(CLI::App& command, SpecFlags& flags) {
  command.add_option("SPEC", flags.spec, "the specification, a TOML file")->required();
  command.add_option("--set", flags.settings, "KEY=VALUE, in place of what the file says")
      ->take_all();
}

void add_device_flag(CLI::App& command, SpecFlags& flags) {
  command
      .add_option("--device", flags.device,
                  "where rows are kept and combined [what the specification says]")
      ->check(CLI::IsMember(
          std::vector<std::string>(kernels::kDevices.begin(), kernels::kDevices.end())));
}

std::vector<std::string> all_settings(const SpecFlags& flags) {
  std::vector<std::string> settings = flags.settings;
  if (!flags.device.empty()) settings.push_back("device=" + flags.device);
  return settings;
}

Status apply_settings(experiment::Spec& spec, const SpecFlags& flags) {
  for (const std::string& setting : all_settings(flags)) {
    BALLAST_TRY_STATUS(experiment::apply_override(spec, setting));
  }
  return {};
}

Result<experiment::Spec> read_spec(const SpecFlags& flags) {
  BALLAST_TRY(experiment::Spec spec, experiment::read_spec(flags.spec));
  BALLAST_TRY_STATUS(apply_settings(spec, flags));
  return spec;
}

void add_threads_flag(CLI::App& command, std::size_t& threads, const std::string& help) {
  auto* option = command.add_option("--threads", threads, help)
                     ->check(CLI::Range(std::uint64_t{1}, experiment::kThreadsMax));
  if (threads > 0) option->capture_default_str();
}

std::size_t threads_of(std::size_t flag, const experiment::Spec& spec) {
  if (flag > 0) return flag;
  return spec.threads > 0 ? spec.threads : hardware_threads();
}

}  // namespace ballast::apps
