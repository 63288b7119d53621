#pragma once
// Threads of a parallel loop that have nothing to do.

namespace ballast::apps {

// Lets them sleep at once. Otherwise they spin for a while, which is best where loop follows loop
// and nothing else runs; beside a network server they take the processors from its transfers: with
// six workers on two cores they were a quarter of all its time.
//
// GCC's OpenMP library reads how long to spin when it is loaded, before main(). So the program
// starts itself again with that setting, unless the user has made one (GOMP_SPINCOUNT or
// OMP_WAIT_POLICY); it stays the same process. Where that cannot be done nothing happens.
//
// Requires: nothing has been done yet that would be done twice; no other thread.
void let_idle_threads_sleep();

}  // namespace ballast::apps
