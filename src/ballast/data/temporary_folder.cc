#include "ballast/data/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace ballast::data {

Result<TemporaryFolder> TemporaryFolder::create(const std::filesystem::path& parent) {
  std::string name = (parent / ".ballast-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return io_error(
        fmt::format("{}: cannot create a folder there: {}", parent.string(), std::strerror(errno)));
  }
  return TemporaryFolder(name);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace ballast::data
