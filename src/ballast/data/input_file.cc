#include "ballast/data/input_file.h"

#include <fmt/format.h>

#include <array>

namespace ballast::data {

Status InputFile::read_exactly(std::span<std::uint8_t> buffer) {
  BALLAST_TRY(const std::size_t filled, read_some(buffer));
  if (filled < buffer.size()) {
    return invalid_argument(
        fmt::format("{}: ends {} bytes too early", name_, buffer.size() - filled));
  }
  return {};
}

Status InputFile::expect_end() {
  std::array<std::uint8_t, 1> extra{};
  BALLAST_TRY(const std::size_t filled, read_some(extra));
  if (filled != 0) return invalid_argument(fmt::format("{}: is longer than it says", name_));
  return {};
}

}  // namespace ballast::data
