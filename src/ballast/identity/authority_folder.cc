#include "ballast/identity/authority_folder.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <span>
#include <string>
#include <system_error>

#include "ballast/files/error_text.h"
#include "ballast/files/file_io.h"
#include "ballast/files/new_file.h"
#include "ballast/identity/certificate.h"
#include "ballast/identity/issued_index.h"

namespace ballast::identity {

using files::flush_folder;
using files::kPrivate;
using files::kPublic;
using files::system_error;
using files::write_new_file;

namespace {

// A folder that only its owner may enter, and that vanishes unless it gets its name.
class StagedFolder {
 public:
  static Result<StagedFolder> create_in(const std::filesystem::path& parent) {
    std::string name = (parent / ".ballast-ca-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      return system_error(parent, "cannot create a folder there");
    }
    return StagedFolder(name);
  }
  StagedFolder(StagedFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const noexcept { return path_; }

  Status put_in_place(const std::filesystem::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) return system_error(target, "cannot create");
    path_.clear();
    return {};
  }

 private:
  explicit StagedFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;  // empty once it is in place
};

Result<std::string> read_text(const std::filesystem::path& path) {
  constexpr std::size_t kBytesMax = std::size_t{1} << 30;  // OpenSSL counts bytes in an int
  BALLAST_TRY(const auto bytes, files::read_file(path));
  if (bytes.size() > kBytesMax) {
    return invalid_argument(fmt::format("{}: is too long", files::shown(path)));
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_text(const std::filesystem::path& path, std::string_view text) {
  const std::array pieces = {std::as_bytes(std::span(text))};
  return files::write_file_atomically(path, pieces);
}

Status check_is_private(const std::filesystem::path& path) {
  constexpr mode_t kOthers = 077;
  struct stat facts;
  if (::lstat(path.c_str(), &facts) != 0) return system_error(path, "cannot read");
  const std::string name = files::shown(path);
  if (!S_ISREG(facts.st_mode)) {
    return invalid_argument(
        fmt::format("{}: is not a regular file; put the key itself there", name));
  }
  if ((facts.st_mode & kOthers) != 0) {
    return invalid_argument(fmt::format(
        "{}: other users can get at the key (mode {:04o}); run 'chmod 600 {}', and start a new "
        "authority if one of them may have read it",
        name, facts.st_mode & 07777, name));
  }
  return {};
}

// "ca/" names the folder "ca".
std::filesystem::path without_slash(const std::filesystem::path& path) {
  const std::filesystem::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace

Status AuthorityFolder::create(std::string_view key_pem, std::string_view certificate_pem) const {
  const std::filesystem::path target = without_slash(path_);
  struct stat facts;
  if (::lstat(target.c_str(), &facts) == 0) {
    return invalid_argument(fmt::format(
        "{}: exists already and is left as it is; name a new folder", files::shown(target)));
  }
  const auto parent = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  BALLAST_TRY(StagedFolder staged, StagedFolder::create_in(parent));
  const AuthorityFolder folder(staged.path());
  BALLAST_TRY_STATUS(write_new_file(folder.key(), key_pem, kPrivate));
  BALLAST_TRY_STATUS(write_new_file(folder.certificate(), certificate_pem, kPublic));
  BALLAST_TRY_STATUS(write_new_file(folder.index(), format_issued_index({}), kPublic));
  BALLAST_TRY_STATUS(write_new_file(folder.denied(), format_deny_list({}), kPublic));
  BALLAST_TRY_STATUS(flush_folder(folder.path()));
  BALLAST_TRY_STATUS(staged.put_in_place(target));
  return flush_folder(parent);
}

Result<Signer> AuthorityFolder::read_signer() const {
  BALLAST_TRY(const std::string certificate_pem, read_text(certificate()));
  BALLAST_TRY_STATUS(check_is_private(key()));
  BALLAST_TRY(const std::string key_pem, read_text(key()));
  Signer signer{certificate_from_pem(certificate_pem), key_from_pem(key_pem)};
  if (!signer.certificate || !signer.key) {
    const auto path = signer.certificate ? key() : certificate();
    return invalid_argument(
        fmt::format("{}: cannot be decoded; restore the file from a backup", files::shown(path)));
  }
  const ErrorScope errors;
  if (X509_check_private_key(signer.certificate.get(), signer.key.get()) != 1) {
    return invalid_argument(fmt::format(
        "{}: is not the key of ca.crt; restore both from one backup", files::shown(key())));
  }
  return signer;
}

Result<std::vector<IssuedCertificate>> AuthorityFolder::read_index() const {
  BALLAST_TRY(const std::string text, read_text(index()));
  return files::naming(index(), parse_issued_index(text));
}

Status AuthorityFolder::write_index(const std::vector<IssuedCertificate>& issued) const {
  return write_text(index(), format_issued_index(issued));
}

Result<std::vector<DeniedCertificate>> AuthorityFolder::read_denied() const {
  BALLAST_TRY(const std::string text, read_text(denied()));
  return files::naming(denied(), parse_deny_list(text));
}

Status AuthorityFolder::write_denied(const std::vector<DeniedCertificate>& denied_now) const {
  return write_text(denied(), format_deny_list(denied_now));
}

}  // namespace ballast::identity
