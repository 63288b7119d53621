#pragma once
// Ctrl-C as a wish: the first one asks the work to stop and keep what is done, the second one ends
// the program at once.

#include <atomic>

namespace ballast::apps {

// Catches SIGINT and SIGTERM from now on. True once one has come. Lives as long as the program.
const std::atomic<bool>& watch_for_interrupt();

}  // namespace ballast::apps
