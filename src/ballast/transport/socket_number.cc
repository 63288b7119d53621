#include "ballast/transport/socket_number.h"

#include <sys/stat.h>

namespace ballast::transport {

std::uint64_t socket_number(int descriptor) noexcept {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

}  // namespace ballast::transport
