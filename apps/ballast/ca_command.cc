#include <fmt/chrono.h>
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/ballast/commands.h"
#include "ballast/identity/certificate_authority.h"

namespace ballast::apps {
namespace {

using identity::CertificateAuthority;

struct CaFlags {
  std::string folder = "ca";
  std::string name;
  std::string authority_name = identity::AuthorityOptions{}.name;
  int authority_days = identity::AuthorityOptions{}.days;
  bool is_server = false;
  std::vector<std::string> hosts;
  int days = identity::IssueRequest{}.days;
  bool replace = false;
  std::string out;
  bool only_old = false;
  bool as_json = false;
};

std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string time_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time.time_since_epoch().count()));
}

Status init(const CaFlags& flags) {
  BALLAST_TRY(
      const auto authority,
      CertificateAuthority::init(
          flags.folder, {.name = flags.authority_name, .days = flags.authority_days}, now()));
  return print(fmt::format(
      "made the authority {} in {}; servers and workers trust {}, and nobody else may see ca.key\n",
      flags.authority_name, flags.folder, authority.certificate_path().string()));
}

Status issue(const CaFlags& flags) {
  if (!flags.is_server && !flags.hosts.empty()) {
    return invalid_argument("--host is for servers; add --server, or leave it out for a worker");
  }
  if (flags.is_server && flags.hosts.empty()) {
    return invalid_argument(
        "a server needs --host: the names or addresses that workers connect to, as in --host "
        "localhost");
  }
  BALLAST_TRY(auto authority, CertificateAuthority::open(flags.folder));
  const auto kind = flags.is_server ? identity::Kind::kServer : identity::Kind::kWorker;
  BALLAST_TRY(const auto files, authority.issue({.name = flags.name,
                                                 .kind = kind,
                                                 .hosts = flags.hosts,
                                                 .days = flags.days,
                                                 .replace = flags.replace,
                                                 .out = flags.out},
                                                now()));
  return print(fmt::format("issued {} {} until {}, serial {}: {} {}\n", to_string(kind), flags.name,
                           time_text(files.certificate.validity.until),
                           files.certificate.serial.hex, files.key_path.string(),
                           files.certificate_path.string()));
}

Status revoke(const CaFlags& flags) {
  BALLAST_TRY(auto authority, CertificateAuthority::open(flags.folder));
  const auto which =
      flags.only_old ? identity::Revocation::kAllButNewest : identity::Revocation::kAll;
  BALLAST_TRY(const auto revoked, authority.revoke(flags.name, which));
  std::string text;
  for (const auto& certificate : revoked) {
    text += fmt::format("revoked {}, serial {}\n", certificate.name, certificate.serial.hex);
  }
  if (revoked.empty()) text = fmt::format("{}: nothing left to revoke\n", flags.name);
  return print(text);
}

Status list(const CaFlags& flags) {
  BALLAST_TRY(const auto authority, CertificateAuthority::open(flags.folder));
  BALLAST_TRY(const auto listed, authority.list(now()));
  std::string text;
  for (const auto& [certificate, state] : listed) {
    const std::string from = time_text(certificate.validity.from);
    const std::string until = time_text(certificate.validity.until);
    if (flags.as_json) {
      const nlohmann::ordered_json line = {{"name", certificate.name},
                                           {"kind", to_string(certificate.kind)},
                                           {"serial", certificate.serial.hex},
                                           {"valid_from", from},
                                           {"valid_until", until},
                                           {"state", to_string(state)}};
      text += line.dump() + "\n";
    } else {
      text += fmt::format("{:<24}{:<8}{:<9}{} to {}  {}\n", certificate.name,
                          to_string(certificate.kind), to_string(state), from, until,
                          certificate.serial.hex);
    }
  }
  return print(text);
}

using Work = Status (*)(const CaFlags&);

// A subcommand of `ca` with the flag that all of them have.
CLI::App* add_subcommand(CLI::App& ca, Action& action, const std::shared_ptr<CaFlags>& flags,
                         const char* name, const char* summary, Work work) {
  CLI::App* command = ca.add_subcommand(name, summary);
  command->add_option("--dir", flags->folder, "Folder of the authority")->capture_default_str();
  command->callback([&action, flags, work] { action = [flags, work] { return work(*flags); }; });
  return command;
}

}  // namespace

void add_ca_command(CLI::App& app, Action& action) {
  CLI::App* ca = app.add_subcommand("ca", "Issue and revoke certificates of workers and servers");
  ca->require_subcommand(1);
  const auto flags = std::make_shared<CaFlags>();

  CLI::App* command = add_subcommand(*ca, action, flags, "init", "Make a new authority", init);
  command->add_option("--name", flags->authority_name, "Its name")->capture_default_str();
  command->add_option("--days", flags->authority_days, "How long it lives")->capture_default_str();

  command =
      add_subcommand(*ca, action, flags, "issue",
                     "Make NAME.key and NAME.crt; for a known name this is a rotation", issue);
  command->add_option("name", flags->name, "Of a-z, 0-9 and '-'")->required();
  command->add_flag("--server", flags->is_server, "For a server instead of a worker");
  command->add_option("--host", flags->hosts,
                      "DNS name or IP address of the server; may be given again");
  command->add_option("--days", flags->days, "How long it is valid")->capture_default_str();
  command->add_flag("--replace", flags->replace, "Revoke the older certificates of the name");
  command->add_option("--out", flags->out, "Folder for the two files; default: that of --dir");

  command = add_subcommand(*ca, action, flags, "revoke", "Refuse the certificates of NAME", revoke);
  command->add_option("name", flags->name)->required();
  command->add_flag("--old", flags->only_old, "All but the newest, after a rotation");

  command = add_subcommand(*ca, action, flags, "list", "List every certificate", list);
  command->add_flag("--json", flags->as_json, "One JSON object per line");
}

}  // namespace ballast::apps
