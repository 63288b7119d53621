#pragma once
// Certificates that are refused although they are signed and not expired.
//
// The list is a text file: one line "SERIAL NAME" per certificate; lines that begin with '#' and
// empty lines say nothing. `ballast ca revoke` replaces it as a whole, and so must whoever copies
// it to another machine: a new file, renamed.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/identity/peer.h"

namespace ballast::identity {

// A longer file is refused: this is room for 100,000 certificates and more.
inline constexpr std::size_t kDenyListBytesMax = 16 * 1024 * 1024;

struct DeniedCertificate {
  Serial serial;
  std::string name;  // for those who read the file; only the serial number decides
};

// Errors name the line.
Result<std::vector<DeniedCertificate>> parse_deny_list(std::string_view text);
std::string format_deny_list(const std::vector<DeniedCertificate>& denied);

// A deny list file, followed as it changes.
//
// Thread-safety: any number of threads.
class DenyList {
 public:
  // Refuses a file that is missing or malformed.
  static Result<std::unique_ptr<DenyList>> open(std::filesystem::path path);

  // Whether the file lists the serial number now: it is read again when it has changed. While it
  // cannot be read the answer is an error: the server cannot know whom it serves, so it must serve
  // nobody until the list is back, and must send nobody away for good.
  //
  // Cost: one stat() if the file has not changed, about a microsecond.
  Result<bool> is_denied(const Serial& serial);

 private:
  // Tells one state of the file from the next.
  struct Stamp {
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t changed_s = 0, changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };

  explicit DenyList(std::filesystem::path path) : path_(std::move(path)) {}
  Result<Stamp> stamp() const;
  Status refresh();

  const std::filesystem::path path_;
  std::mutex mutex_;           // guards what follows
  std::optional<Stamp> read_;  // the state that `serials_` was read from
  std::set<Serial> serials_;
};

}  // namespace ballast::identity
