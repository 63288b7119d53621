#pragma once
// Private to service/: what happens around the state of a serving run. It hears of every update
// and every member on the thread that owns the state, keeps the journal and the checkpoints there,
// and hands evaluations to the thread that waits for the end.
//
// After close() no update is acknowledged any more: what is saved last is what was promised last.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/service/event.h"
#include "ballast/service/figures.h"
#include "ballast/service/keeper.h"
#include "ballast/service/line_budget.h"
#include "ballast/transport/exchange.h"

namespace ballast::service {

// A model to evaluate, and the statistics that belong to it (none: the model's initial ones).
struct Exhibit {
  std::uint64_t accepted = 0;
  server::Snapshot model;
  std::optional<std::vector<float>> statistics;
};

struct StewardOptions {
  std::vector<std::string> names;
  std::uint64_t updates = 0;         // the run is complete after so many accepted ones
  std::uint64_t evaluate_every = 0;  // accepted updates
  EventSink events;
};

class Steward {
 public:
  Steward(StewardOptions options, Keeper keeper);

  // The hooks refer to this object, which outlives them.
  transport::ExchangeHooks hooks();

  // On the state thread: the figures of the moment; and the last checkpoint.
  Figures look(const server::ParameterServer& server);
  void close(const server::ParameterServer& server);

  // On any thread.
  // Waits until there is something to do, or for so long.
  void wait(std::chrono::milliseconds time);
  std::optional<Exhibit> take_exhibit();  // the newest one that nobody took
  bool is_over() const;                   // complete, or failed
  bool is_stepping() const;
  Status status() const;                // why it failed, if it did
  transport::Close why_closed() const;  // what the workers are told at the end
  Figures last() const;                 // as close() found them; none before

 private:
  using Objection = std::optional<transport::Close>;
  Objection on_judged(const server::ParameterServer& server, const transport::JudgedUpdate& update);
  void on_refused(std::uint32_t worker, server::Verdict verdict, std::uint32_t count);
  void on_member(std::uint32_t worker, transport::MemberEvent event);
  void tell_of(std::uint32_t worker, Severity severity, std::string members);
  void on_tick(const server::ParameterServer& server);
  Objection on_accepted(const server::ParameterServer& server,
                        const transport::JudgedUpdate& update);
  void report_save(const Result<std::optional<store::SaveReport>>& saved) const;
  void show(const server::ParameterServer& server);
  void fail(Error error);

  const StewardOptions options_;

  // The state thread's own.
  Keeper keeper_;
  LineBudget lines_;
  // Measuring reads all rows, so it is done when somebody looks, and not more often than that.
  std::vector<robust::RowMeasure> measures_;
  std::chrono::steady_clock::time_point measured_at_{};
  bool is_closed_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<Exhibit> exhibit_;
  std::optional<Error> failure_;
  Figures last_;
  bool is_complete_ = false;
  bool is_stepping_ = false;
};

}  // namespace ballast::service
