#pragma once
// Runs numbered, independent pieces of work on a given number of threads. Callers make results
// independent of that number by giving each piece its own output and adding partial sums in order.
//
// Two bodies exist: parallel_openmp.cc, and parallel_threads.cc for builds under the thread
// sanitizer (which cannot see OpenMP's barriers) or without OpenMP.

#include <cstddef>
#include <memory>
#include <type_traits>

namespace ballast {

using IndexedTask = void (*)(void* context, std::size_t index);

// Calls task(context, 0) ... task(context, count - 1), each once, on at most `threads` threads.
// Requires: threads >= 1; the tasks do not throw.
void run_indexed(std::size_t threads, std::size_t count, IndexedTask task, void* context);

// The same for any callable taking the index. Allocates nothing itself.
template <typename Function>
void parallel_for(std::size_t threads, std::size_t count, Function&& function) {
  using Callable = std::remove_reference_t<Function>;
  run_indexed(
      threads, count,
      [](void* context, std::size_t index) { (*static_cast<Callable*>(context))(index); },
      const_cast<void*>(static_cast<const void*>(std::addressof(function))));
}

// Number of hardware threads, at least 1.
std::size_t hardware_threads() noexcept;

}  // namespace ballast
