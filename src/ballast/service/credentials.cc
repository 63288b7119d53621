#include "ballast/service/credentials.h"

#include <utility>

namespace ballast::service {

Result<transport::Identify> make_identify(const std::filesystem::path& denied, WallClock clock) {
  return transport::make_identify(denied, std::move(clock));
}

}  // namespace ballast::service
