#include "ballast/identity/deny_list.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "ballast/files/error_text.h"
#include "ballast/files/file_io.h"
#include "ballast/files/new_file.h"
#include "ballast/identity/name.h"

namespace ballast::identity {

using files::system_error;

namespace {

std::optional<DeniedCertificate> parse_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view serial = line.substr(0, space);
  const std::string_view name = line.substr(space + 1);
  if (!is_serial(serial) || !is_name(name)) return std::nullopt;
  return DeniedCertificate{{std::string(serial)}, std::string(name)};
}

}  // namespace

Result<std::vector<DeniedCertificate>> parse_deny_list(std::string_view text) {
  std::vector<DeniedCertificate> denied;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    auto entry = parse_line(line);
    if (!entry) {
      return invalid_argument(fmt::format(
          "line {} is {}; write 'SERIAL NAME' with lower-case hexadecimal digits, or a copy of "
          "the authority's file",
          number, files::in_quotes(line)));
    }
    denied.push_back(std::move(*entry));
  }
  return denied;
}

std::string format_deny_list(const std::vector<DeniedCertificate>& denied) {
  std::string text = "# Refused certificates: serial number and name\n";
  for (const auto& [serial, name] : denied) text += fmt::format("{} {}\n", serial.hex, name);
  return text;
}

Result<std::unique_ptr<DenyList>> DenyList::open(std::filesystem::path path) {
  std::unique_ptr<DenyList> list(new DenyList(std::move(path)));
  BALLAST_TRY_STATUS(list->refresh());
  return list;
}

Result<bool> DenyList::is_denied(const Serial& serial) {
  const std::lock_guard lock(mutex_);
  BALLAST_TRY_STATUS(refresh());
  return serials_.contains(serial);
}

Result<DenyList::Stamp> DenyList::stamp() const {
  struct stat facts;
  if (::stat(path_.c_str(), &facts) != 0) return system_error(path_, "cannot read the deny list");
  return Stamp{.device = facts.st_dev,
               .inode = facts.st_ino,
               .bytes = static_cast<std::uint64_t>(facts.st_size),
               .changed_s = facts.st_ctim.tv_sec,
               .changed_ns = facts.st_ctim.tv_nsec};
}

// The stamp is taken before the file is opened. If the file is replaced in between, the new list is
// read under the old stamp, and the next call reads it once more.
Status DenyList::refresh() {
  BALLAST_TRY(const Stamp now, stamp());
  if (read_ == now) return {};
  read_.reset();
  if (now.bytes > kDenyListBytesMax) {
    return invalid_argument(fmt::format("{}: is longer than {} bytes; is it a deny list?",
                                        files::shown(path_), kDenyListBytesMax));
  }
  BALLAST_TRY(const auto bytes, files::read_file(path_));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  BALLAST_TRY(const auto denied, files::naming(path_, parse_deny_list(text)));
  serials_.clear();
  for (const DeniedCertificate& entry : denied) serials_.insert(entry.serial);
  read_ = now;
  return {};
}

}  // namespace ballast::identity
