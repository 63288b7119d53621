#pragma once
// The checkers: an account of its own of what a server has promised, kept from what it says, and
// compared with what it does. docs/simulation.md lists what is checked under which name.
//
// Thread-safety: none; one simulation owns it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ballast/server/parameter_server.h"
#include "ballast/server/state.h"
#include "ballast/service/checkpoint_writer.h"
#include "ballast/simulate/components.h"
#include "ballast/simulate/scenario.h"
#include "ballast/transport/exchange.h"

namespace ballast::simulate {

struct Violation {
  std::string checker;
  std::string message;
};

class Account {
 public:
  // Both are borrowed. The scenario's number of workers may grow between two lives.
  Account(const Scenario& scenario, const ServerComponents& components);

  // A life of the server begins; `facts` are there if it was resumed, from a newest checkpoint that
  // was damaged or not.
  void begin_life(const server::ParameterServer& server, std::uint64_t incarnation,
                  const std::optional<service::ResumeFacts>& facts, bool was_damaged, Instant now);

  // The server looks at what has come. Called before it does.
  void begin_turn(Instant now);

  // What the server says, in the order in which it says it.
  void on_judged(const server::ParameterServer& server, const transport::JudgedUpdate& update);
  void on_member(std::uint32_t worker, transport::MemberEvent event, Instant now);
  void on_delivery(std::uint32_t worker, const transport::Delivery& delivery, Instant now);
  void on_close(std::uint32_t worker, transport::Close why, Instant now);
  // A checkpoint was tried, and has succeeded if it is confirmed.
  void on_checkpoint(const server::ParameterServer& server, bool is_confirmed);

  // What must hold between two turns.
  void check(const server::ParameterServer& server, Instant now);

  void fail(std::string checker, std::string message);
  const std::optional<Violation>& violation() const noexcept { return violation_; }

  std::uint64_t accepted() const noexcept { return own_.accepted; }
  std::uint64_t steps() const noexcept { return own_.steps; }
  std::uint64_t lifetime(std::uint32_t worker) const { return own_.lifetime[worker]; }

 private:
  struct Counts {
    std::vector<std::uint64_t> lifetime;  // accepted updates of each worker
    std::vector<std::uint64_t> row;       // of these, those that its row rests on
    std::uint64_t accepted = 0, steps = 0;
  };
  struct Saved {
    server::ServerState state;
    Counts counts;
    bool is_confirmed = false;
  };
  using TicketKey = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;

  void check_resume(const server::ParameterServer& server, const service::ResumeFacts& facts,
                    bool was_damaged);
  void check_loss(const service::ResumeFacts& facts, bool was_damaged);
  void check_accepted(const transport::JudgedUpdate& update);
  void check_lead();
  void check_counts(const server::ParameterServer& server);
  void check_caps(const server::ParameterServer& server);
  void check_statistics(const server::ParameterServer& server);
  void check_silence(const server::ParameterServer& server, Instant now);
  void check_memory(const server::ParameterServer& server);
  std::size_t row_count() const;
  std::size_t quorum() const;
  void hear(std::uint32_t worker, Instant now) { heard_[worker] = listened(now); }
  Instant listened(Instant now) const;
  void grow();

  const Scenario& scenario_;
  const ServerComponents& components_;
  std::optional<Violation> violation_;

  Counts own_;
  std::uint64_t acknowledged_ = 0;  // accepted updates up to the last one that was acknowledged
  std::vector<std::uint64_t> acknowledged_sequence_;
  std::deque<Saved> saved_;

  std::uint64_t incarnation_ = 0;
  std::set<TicketKey> issued_, used_;  // in all lives
  std::uint64_t last_sequence_ = 0;    // of the ticket that was accepted last
  std::vector<std::optional<wire::Ticket>> ticket_;

  // Time counts while the server looks at least every stride.
  Instant last_turn_{}, listened_{};
  std::vector<Instant> heard_;

  std::optional<std::vector<float>> paused_statistics_;
  std::vector<std::weak_ptr<const std::vector<float>>> models_;
};

}  // namespace ballast::simulate
