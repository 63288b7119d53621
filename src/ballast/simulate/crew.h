#pragma once
// Private to simulate/: the workers of a simulated world, honest and hostile.

#include <cstdint>
#include <optional>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/simulate/world.h"

namespace ballast::simulate {

class Crew final : public Workers {
 public:
  explicit Crew(World& world);

  void on_message(const StreamPointer& stream, ModelMessage message) override;
  void on_end(const StreamPointer& stream, std::optional<transport::Close> why) override;
  void begin(std::uint32_t worker) override;
  void forget(std::uint32_t worker) override;
  void calm_down() override;

 private:
  struct Member {
    StreamPointer stream;
    StreamPointer old_stream;      // of a hostile worker, which did not close it
    bool has_memory = false;       // of updates that were accepted
    std::uint64_t activity = 0;    // rises whenever something changes: older plans are void
    ModelMessage assignment = {};  // the last one with a ticket
    std::optional<UpdateMessage> sent = {};  // the last update
    std::uint64_t sent_count = 0;
  };

  void connect(std::uint32_t worker);
  void connect_soon(std::uint32_t worker);
  void watch(std::uint32_t worker);
  void compute(std::uint32_t worker);
  UpdateMessage honest_update(std::uint32_t worker);

  // crew_hostile.cc
  void act(std::uint32_t worker);
  void act_soon(std::uint32_t worker);
  void do_something(std::uint32_t worker);
  void join(std::uint32_t worker, server::Memory memory);
  void send_lie(std::uint32_t worker);
  void send_again(std::uint32_t worker);
  void send_foreign(std::uint32_t worker);
  void send_garbage(std::uint32_t worker);
  void lie(std::vector<float>& values, Rng& rng);

  void plan(std::uint32_t worker, Instant delay, std::function<void()> action);
  Instant about(Instant mean, std::uint32_t worker);

  World& world_;
  std::vector<Member> members_;
  std::vector<Rng> rng_;
  std::vector<wire::TicketBytes> seen_tickets_;  // by hostile workers, which share them
  bool is_calm_ = false;
};

}  // namespace ballast::simulate
