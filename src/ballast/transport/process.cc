#include "ballast/transport/process.h"

#include <cstdlib>  // defines __GLIBC__ where there is one

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ballast::transport {

void keep_freed_memory() noexcept {
#ifdef __GLIBC__
  constexpr int kMegabyte = 1 << 20;
  // One arena and no mappings of their own: only the main arena grows without giving back.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1024 * kMegabyte);
  mallopt(M_TOP_PAD, 16 * kMegabyte);
#endif
}

}  // namespace ballast::transport
