#pragma once
// Private to simulate/: whether a state is the one that was saved.

#include <optional>
#include <string>

#include "ballast/server/state.h"

namespace ballast::simulate {

// The first thing in which a resumed state differs from the saved one, in words. A resume voids
// tickets and raises sequence numbers, and may have more workers, which have nothing.
std::optional<std::string> difference_after_resume(const server::ServerStateView& saved,
                                                   const server::ServerStateView& resumed);

}  // namespace ballast::simulate
