#pragma once
// Runs the independent parts of a claim in parallel.

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/base/parallel.h"
#include "ballast/verify/claim.h"

namespace ballast::verify {

// task(0) ... task(count - 1) on the lab's threads, their values in this order. The first error in
// this order is handed on; after a request to stop the remaining tasks are not begun.
// Requires: tasks that return Result<T> and do not throw.
template <typename Task>
auto run_all(const Lab& lab, std::size_t count, const Task& task)
    -> Result<std::vector<typename decltype(task(std::size_t{0}))::value_type>> {
  using Value = typename decltype(task(std::size_t{0}))::value_type;
  std::vector<std::optional<Result<Value>>> results(count);
  parallel_for(lab.threads, count, [&](std::size_t i) {
    if (lab.stop == nullptr || !lab.stop->load()) results[i].emplace(task(i));
  });
  std::vector<Value> values;
  for (auto& result : results) {
    if (!result) return interrupted("interrupted; no claim is half checked, so begin again");
    BALLAST_TRY(auto value, std::move(*result));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace ballast::verify
