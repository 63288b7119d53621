#pragma once
// Private to service/: the durable state of a serving run, as the thread that owns the state keeps
// it. Without a folder it keeps nothing.
//
// Thread-safety: none; one thread at a time.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/service/plan.h"
#include "ballast/store/checkpoint_policy.h"
#include "ballast/store/store.h"
#include "ballast/transport/exchange.h"

namespace ballast::service {

struct KeeperOptions {
  std::filesystem::path folder = {};  // empty: nothing is kept
  bool is_resume = false;             // go on from what the folder holds
  store::CheckpointPolicy::Options policy = {};
  std::string run = {};
  std::string configuration = {};
  WallClock clock = {};
};

class Keeper {
 public:
  // Saves the server's first state, or replaces it by the one that the folder holds.
  static Result<Keeper> open(const KeeperOptions& options, server::ParameterServer& server);

  // Notes an accepted update, on the disk when it returns.
  Status note(std::uint64_t accepted_count, const transport::JudgedUpdate& update);

  // Saves the state if that is due; nothing otherwise.
  Result<std::optional<store::SaveReport>> save_if_due(const server::ParameterServer& server);

  // Saves the state if anything was accepted since the last time.
  Result<std::optional<store::SaveReport>> save(const server::ParameterServer& server);

  std::uint64_t incarnation() const noexcept { return store_ ? store_->incarnation() : 1; }
  // Of the generation that was saved or gone on from last; 0 if nothing is kept.
  std::uint64_t generation() const noexcept { return generation_; }
  // Why newer generations than the one that was resumed could not be used.
  const std::vector<std::string>& damages() const noexcept { return damages_; }

 private:
  explicit Keeper(const KeeperOptions& options)
      : clock_(options.clock), policy_(options.policy, 0, server::Instant::zero()) {}
  Status create(const KeeperOptions& options, const server::ParameterServer& server);
  Status resume(const KeeperOptions& options, server::ParameterServer& server);
  server::Instant now() const;

  WallClock clock_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  store::CheckpointPolicy policy_;
  std::uint64_t saved_count_ = 0;
  std::optional<store::Store> store_;
  std::uint64_t generation_ = 0;
  std::vector<std::string> damages_;
};

}  // namespace ballast::service
