#pragma once
// What a save did, for logs and tests.

#include <cstddef>
#include <cstdint>
#include <string>

namespace ballast::store {

struct SaveReport {
  std::uint64_t generation = 0;
  std::size_t files_written = 0;
  std::size_t files_linked = 0;  // slots that are the same as in an older generation
  std::uint64_t bytes_written = 0;
  std::string warning =
      {};  // the checkpoint is safe, but an older one could not be removed, and why
};

}  // namespace ballast::store
