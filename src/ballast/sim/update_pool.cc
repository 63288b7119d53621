#include "ballast/sim/update_pool.h"

#include <fmt/core.h>

#include <chrono>
#include <exception>
#include <system_error>

#include "ballast/base/check.h"

namespace ballast::sim {
namespace {

// A gradient source may be somebody else's code, and an exception must not end a helper thread.
Result<worker::WorkerUpdate> compute(worker::Worker& worker, const server::Snapshot& model) {
  try {
    return worker.on_model({.version = model.version, .values = *model.values});
  } catch (const std::exception& exception) {
    return io_error(fmt::format("its gradient source failed: {}", exception.what()));
  }
}

}  // namespace

UpdatePool::UpdatePool(std::span<worker::Worker> workers, std::size_t threads)
    : workers_(workers), jobs_(workers.size()) {
  BALLAST_CHECK(threads >= 1, "a pool has at least the caller's thread");
  try {
    for (std::size_t i = 1; i < threads; ++i) helpers_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // Fewer threads change the speed alone.
  }
}

UpdatePool::~UpdatePool() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  opened_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void UpdatePool::start(std::uint32_t worker, server::Snapshot model, std::uint64_t due) {
  {
    const std::lock_guard lock(mutex_);
    jobs_[worker].model = std::move(model);
    open_.emplace(due, worker);
    ++under_way_;
  }
  opened_.notify_one();
}

Result<worker::WorkerUpdate> UpdatePool::finish(std::uint32_t worker) {
  (void)wait_for(worker);
  const std::lock_guard lock(mutex_);
  std::optional<Result<worker::WorkerUpdate>>& result = jobs_[worker].result;
  Result<worker::WorkerUpdate> taken = std::move(*result);
  result.reset();
  return taken;
}

const Result<worker::WorkerUpdate>& UpdatePool::wait_for(std::uint32_t worker) {
  std::unique_lock lock(mutex_);
  std::optional<Result<worker::WorkerUpdate>>& result = jobs_[worker].result;
  while (!result) {
    if (open_.empty()) {
      computed_.wait(lock);
    } else {
      compute_most_urgent(lock);
    }
  }
  return *result;
}

void UpdatePool::settle() {
  std::unique_lock lock(mutex_);
  while (under_way_ > 0) {
    if (open_.empty()) {
      computed_.wait(lock);
    } else {
      compute_most_urgent(lock);
    }
  }
}

const Result<worker::WorkerUpdate>* UpdatePool::peek(std::uint32_t worker) const {
  const std::lock_guard lock(mutex_);
  const auto& result = jobs_[worker].result;
  return result ? &*result : nullptr;
}

void UpdatePool::put(std::uint32_t worker, const worker::WorkerUpdate& update, double seconds) {
  const std::lock_guard lock(mutex_);
  jobs_[worker].result = update;
  jobs_[worker].seconds = seconds;
}

double UpdatePool::seconds(std::uint32_t worker) const {
  const std::lock_guard lock(mutex_);
  return jobs_[worker].seconds;
}

void UpdatePool::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    opened_.wait(lock, [this] { return is_stopping_ || !open_.empty(); });
    if (is_stopping_) return;
    compute_most_urgent(lock);
  }
}

// Leaves the lock open while it computes.
void UpdatePool::compute_most_urgent(std::unique_lock<std::mutex>& lock) {
  const std::uint32_t worker = open_.top().second;
  open_.pop();
  Job& job = jobs_[worker];
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  Result<worker::WorkerUpdate> result = compute(workers_[worker], job.model);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  job.model = {};
  lock.lock();
  job.seconds += elapsed.count();
  job.result = std::move(result);
  --under_way_;
  computed_.notify_one();
}

}  // namespace ballast::sim
