#include "ballast/identity/alternative_names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "ballast/files/error_text.h"

namespace ballast::identity {
namespace {

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_label(std::string_view text) {
  constexpr std::size_t kLengthMax = 63;
  return !text.empty() && text.size() <= kLengthMax && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_digit(c) || is_letter(c) || c == '-'; });
}

// A last label of digits alone is a mistyped address: no top-level domain looks like that.
bool is_dns_name(std::string_view text) {
  constexpr std::size_t kLengthMax = 253;
  if (text.size() > kLengthMax) return false;
  for (;;) {
    const std::string_view label = text.substr(0, text.find('.'));
    if (!is_label(label)) return false;
    if (label.size() == text.size()) return !std::all_of(label.begin(), label.end(), is_digit);
    text.remove_prefix(label.size() + 1);
  }
}

Status check_hosts(Kind kind, const std::vector<std::string>& hosts) {
  if (kind == Kind::kWorker && !hosts.empty()) {
    return invalid_argument("a worker's certificate has no hosts; only a server's has");
  }
  if (kind == Kind::kServer && (hosts.empty() || hosts.size() > kHostsMax)) {
    return invalid_argument(fmt::format(
        "a server's certificate needs 1 to {} hosts, the names or addresses that workers connect "
        "to, not {}",
        kHostsMax, hosts.size()));
  }
  return {};
}

}  // namespace

Result<std::string> alternative_names(Kind kind, std::string_view name,
                                      const std::vector<std::string>& hosts) {
  BALLAST_TRY_STATUS(check_hosts(kind, hosts));
  std::set<std::string> values;
  for (const std::string& host : hosts) {
    if (is_address(host)) {
      values.insert("IP:" + host);
    } else if (is_dns_name(host)) {
      values.insert("DNS:" + host);
      if (host == "localhost") values.insert({"IP:127.0.0.1", "IP:::1"});
    } else {
      return invalid_argument(
          fmt::format("{} is neither a host name nor an IP address", files::in_quotes(host)));
    }
  }
  std::string text = "URI:" + identity_uri(kind, name);
  for (const std::string& value : values) text += "," + value;
  return text;
}

}  // namespace ballast::identity
