#pragma once
// What happens around the state of a serving run, or of a simulated one. Its hooks are called for
// every update and every member on the thread that owns the state; there it writes the journal and
// the checkpoints, and publishes the status that other threads read without waiting for that one.
// Models to evaluate or to write go to the thread that waits for the end.
//
// After close() no update is acknowledged any more: what is saved last is what was promised last.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/service/checkpoint_writer.h"
#include "ballast/service/event.h"
#include "ballast/service/server_status.h"
#include "ballast/transport/exchange.h"

namespace ballast::service {

// A model to evaluate or to write, and the running statistics that belong to it.
struct ModelSnapshot {
  std::uint64_t accepted = 0;
  server::Snapshot model = {};
  std::optional<std::vector<float>> statistics = {};  // none: the model's initial ones
  bool is_to_evaluate = false;
  bool is_to_write = false;
};

struct ServerHooksOptions {
  std::uint64_t updates = 0;         // the run is complete after so many accepted ones
  std::uint64_t evaluate_every = 0;  // accepted updates
  std::uint64_t write_every = 0;     // likewise; 0: at the end only
  // So many acknowledged updates may be in no checkpoint; more wait until one succeeds.
  std::uint64_t unsaved_max = 0;
  std::chrono::milliseconds retry{1'000};  // between checkpoints while updates wait
  EventSink events;
  const std::atomic<bool>* stop = nullptr;  // true: do not wait any more. Borrowed.
  // How to wait on the thread that owns the state; a simulation lets its own time pass.
  std::function<void(std::chrono::milliseconds)> sleep = [](auto time) {
    std::this_thread::sleep_for(time);
  };
};

class ServerHooks {
 public:
  ServerHooks(ServerHooksOptions options, CheckpointWriter checkpoints);

  // The hooks refer to this object, which outlives them.
  transport::ExchangeHooks hooks();

  // On the state thread, or before there is one.
  void publish(const server::ParameterServer& server);
  void close(const server::ParameterServer& server);  // with the last checkpoint
  // Keeps the name of a worker that is about to be enrolled, under the next number.
  Status keep_enrolment(const server::ParameterServer& server, const std::string& name);

  // On any thread.
  // Waits until there is something to do, or for so long.
  void wait(std::chrono::milliseconds time);
  std::optional<ModelSnapshot> take_snapshot();  // the newest one that nobody took
  bool is_over() const;                          // complete, or failed
  bool is_stepping() const;
  bool is_acknowledging() const;        // not closed, and not waiting for a checkpoint
  Status status() const;                // why it failed, if it did
  transport::Close why_closed() const;  // what the workers are told at the end
  // As published last, or if the state thread gets to it in time, now.
  ServerStatus look(std::chrono::milliseconds time_max);

 private:
  using Objection = std::optional<transport::Close>;
  Objection on_judged(const server::ParameterServer& server, const transport::JudgedUpdate& update);
  void on_refused(std::uint32_t worker, server::Verdict verdict, std::uint32_t count);
  void on_member(std::uint32_t worker, transport::MemberEvent event);
  void on_certificate(std::uint32_t worker, const std::string& certificate);
  const std::string& name_of(std::uint32_t worker) const;
  void on_tick(const server::ParameterServer& server);
  Objection on_accepted(const server::ParameterServer& server,
                        const transport::JudgedUpdate& update);
  bool wait_for_checkpoint(const server::ParameterServer& server);
  void publish_if_asked(const server::ParameterServer& server);
  void measure(const server::ParameterServer& server);
  void hand_over(const server::ParameterServer& server, ModelSnapshot what);
  void report(std::uint32_t worker, Event event);
  void report_save(const Result<std::optional<store::SaveReport>>& saved) const;
  void set_acknowledging(bool is_acknowledging);
  void fail(Error error);
  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  const ServerHooksOptions options_;

  // The state thread's own.
  CheckpointWriter checkpoints_;
  LogLimiter lines_;
  // Measuring reads all rows, so it is done when somebody looks, and not more often than that.
  std::vector<robust::RowMeasure> measures_;
  std::chrono::steady_clock::time_point measured_at_{};
  bool is_closed_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::condition_variable published_;
  std::optional<ModelSnapshot> snapshot_;
  std::optional<Error> failure_;
  ServerStatus latest_;
  std::uint64_t publication_ = 0;
  bool is_asked_ = false;  // somebody waits for a publication
  bool is_complete_ = false;
  bool is_stepping_ = false;
  bool is_pause_told_ = false;
  bool is_acknowledging_ = true;
};

}  // namespace ballast::service
