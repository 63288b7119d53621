#pragma once
// The durable state of a serving run, written by the thread that owns the state: of serve() and of
// a simulated server. Without a folder nothing is written.
//
// Thread-safety: none; one thread at a time.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/store/checkpoint_policy.h"
#include "ballast/store/store.h"
#include "ballast/transport/exchange.h"
#include "ballast/transport/identify.h"

namespace ballast::service {

struct CheckpointWriterOptions {
  std::filesystem::path folder = {};  // empty: nothing is kept
  bool is_resume = false;             // go on from what the folder holds
  store::CheckpointPolicy::Options policy = {};
  std::string run = {};
  std::string configuration = {};
  // By number; empty: those that the server names, of no known certificate.
  std::vector<store::EnrolledWorker> workers = {};
  transport::WallClock clock = {};
  store::FileSystem* disk = &store::operating_system();  // that holds the folder. Borrowed.
};

// What a resume found.
struct ResumeFacts {
  std::uint64_t generation = 0;      // that the run goes on from
  std::uint64_t accepted = 0;        // updates it holds
  std::uint64_t lost = 0;            // acknowledged after it, by the journal, and gone
  std::vector<std::string> damages;  // why newer generations could not be used
};

class CheckpointWriter {
 public:
  // Saves the server's first state, or replaces it by the one that the folder holds.
  static Result<CheckpointWriter> open(const CheckpointWriterOptions& options,
                                       server::ParameterServer& server);

  // What the server held of a worker is gone. Goes into the journal with the next update or before
  // the next checkpoint, whichever comes first: nothing is promised about it in between.
  void note_removal(std::uint32_t worker) { removed_.insert(worker); }

  // The worker came under this certificate. Kept with the next checkpoint, as its row is.
  void note_certificate(std::uint32_t worker, const std::string& certificate);

  // A worker gets the next number. On the disk when it returns; on an error nothing has changed.
  Status enrol(const server::ParameterServer& server, const std::string& name);

  // Writes an accepted update into the journal; on the disk when it returns.
  Status journal(std::uint64_t accepted_count, const transport::JudgedUpdate& update);

  // Saves the state if that is due; nothing otherwise.
  Result<std::optional<store::SaveReport>> save_if_due(const server::ParameterServer& server);

  // Saves the state if anything has changed that a resume would miss.
  Result<std::optional<store::SaveReport>> save(const server::ParameterServer& server);

  // Updates of the server's that no checkpoint holds; 0 where nothing is kept.
  std::uint64_t unsaved(const server::ParameterServer& server) const noexcept {
    return store_ ? server.accepted_count() - saved_count_ : 0;
  }
  std::size_t places() const noexcept { return places_; }  // for workers, named or not
  const std::vector<store::EnrolledWorker>& workers() const noexcept { return workers_; }
  std::uint64_t failure_count() const noexcept { return failure_count_; }
  std::uint64_t incarnation() const noexcept { return store_ ? store_->incarnation() : 1; }
  // Of the generation that was saved or gone on from last; 0 if nothing is kept.
  std::uint64_t generation() const noexcept { return generation_; }
  const std::optional<ResumeFacts>& resumed() const noexcept { return resumed_; }

 private:
  explicit CheckpointWriter(const CheckpointWriterOptions& options)
      : clock_(options.clock),
        workers_(options.workers),
        policy_(options.policy, 0, server::Instant::zero()) {}
  Status create(const CheckpointWriterOptions& options, const server::ParameterServer& server);
  Status resume(const CheckpointWriterOptions& options, server::ParameterServer& server);
  bool has_news(const server::ParameterServer& server) const noexcept {
    return server.accepted_count() != saved_count_ || !removed_.empty() || are_workers_new_;
  }
  std::vector<store::JournalRecord> removals(std::uint64_t accepted_count) const;
  server::Instant now() const;

  transport::WallClock clock_;
  std::vector<store::EnrolledWorker> workers_;
  std::size_t places_ = 0;
  bool are_workers_new_ = false;  // since the last checkpoint
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  store::CheckpointPolicy policy_;
  std::uint64_t saved_count_ = 0;
  std::set<std::uint32_t> removed_;  // and not in the journal yet
  std::uint64_t failure_count_ = 0;
  std::optional<store::Store> store_;
  std::uint64_t generation_ = 0;
  std::optional<ResumeFacts> resumed_;
};

}  // namespace ballast::service
