#pragma once
// Private to simulate/: time, network, disk, the server's lives and what goes wrong with them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/simulate/account.h"
#include "ballast/simulate/disk.h"
#include "ballast/simulate/messages.h"
#include "ballast/simulate/server_life.h"
#include "ballast/simulate/simulation.h"
#include "ballast/simulate/timeline.h"
#include "ballast/simulate/twin.h"

namespace ballast::simulate {

// The workers, as the world sees them.
class Workers {
 public:
  virtual ~Workers() = default;
  virtual void on_message(const StreamPointer& stream, ModelMessage message) = 0;
  // The stream is gone: closed by the server, or broken.
  virtual void on_end(const StreamPointer& stream, std::optional<transport::Close> why) = 0;
  virtual void begin(std::uint32_t worker) = 0;   // for the first time, or under a new certificate
  virtual void forget(std::uint32_t worker) = 0;  // its process is killed and starts anew
  virtual void calm_down() = 0;                   // the hostile ones go away
};

class World {
 public:
  World(const SimulationOptions& options, const ServerComponents& components);
  ~World();

  SimulationReport run(Workers& workers);

  // For workers.
  const Scenario& scenario() const noexcept { return scenario_; }
  Instant now() const noexcept { return timeline_.now(); }
  void after(Instant delay, std::function<void()> action);
  bool is_hostile(std::uint32_t worker) const { return worker < scenario_.hostile.size(); }
  // None: the server is not to be reached, or does not let the worker in.
  StreamPointer connect(std::uint32_t worker);
  void send_join(const StreamPointer& stream, server::Memory memory);
  void send_update(const StreamPointer& stream, UpdateMessage message);
  void send_end(const StreamPointer& stream, bool has_left);
  // Both ends learn of it in their own time.
  void break_stream(const StreamPointer& stream);
  void note(std::uint32_t worker, std::string_view what, std::uint64_t detail = 0);

 private:
  friend class SimulatedPeer;

  // world_server.cc
  void start_server();
  void enrol_newcomers();
  void drop_revoked_rows();
  void restart_soon(Instant delay);
  ServerSurroundings surroundings();
  transport::ExchangeHooks watch(const transport::ExchangeHooks& hooks);
  std::optional<transport::Close> on_judged(const transport::ExchangeHooks& hooks,
                                            const server::ParameterServer& server,
                                            const transport::JudgedUpdate& update);
  void on_member(std::uint32_t worker, transport::MemberEvent event);
  void after_hook(const server::ParameterServer& server);
  void on_event(const service::Event& event);
  void on_deliver(const StreamPointer& stream, const transport::Delivery& delivery);
  void on_close(const StreamPointer& stream, transport::Close why);
  void turn();
  void after_turn();
  void check();
  void check_snapshot();
  void tick();
  void stop_server();
  void crash(PowerLoss loss);
  void forget_life();
  void sleep(Instant time);

  // world.cc
  void cause_due();
  void cause(const Disturbance& disturbance);
  void disturb_worker(const Disturbance& disturbance);
  void disturb_server(const Disturbance& disturbance);
  void damage_newest();
  void name_newcomer();
  void revoke(const Disturbance& disturbance);
  std::string certificate_of(std::uint32_t worker) const;
  void certify_anew(std::uint32_t worker);
  void calm_down();
  bool has_progressed() const;
  bool is_cut_off(std::uint32_t worker) const;
  bool is_over() const { return account_.violation().has_value(); }
  Instant delay(std::uint32_t worker);
  void travel(const StreamPointer& stream, bool to_server, std::function<void()> arrive);
  void arrive_update(const StreamPointer& stream, const UpdateMessage& message);
  bool take_update(const StreamPointer& stream, const UpdateMessage& message);
  void end_stream(const StreamPointer& stream, bool has_left);
  bool is_live(const StreamPointer& stream) const;
  void hash(std::uint64_t number);
  void trace(const std::string& line);

  Workers* workers_ = nullptr;
  SimulationOptions options_;
  ServerComponents components_;
  Scenario scenario_;
  std::vector<Disturbance> disturbances_;
  std::size_t next_disturbance_ = 0;
  SimulationReport report_;
  Account account_;
  Timeline timeline_;
  Disk disk_;
  Rng disk_rng_;
  std::vector<Rng> network_rng_;

  std::unique_ptr<ServerLife> life_;
  std::uint64_t life_number_ = 0;
  std::optional<Twin> twin_;
  bool is_saved_ = false, is_save_tried_ = false;  // in this hook
  bool was_damaged_ = false;
  Instant busy_until_{}, full_until_{};
  PowerLoss next_loss_ = PowerLoss::kTorn;

  std::size_t workers_max_ = 0;
  std::size_t named_ = 0;  // in the operator's list of workers; the server may not know all yet
  std::vector<Instant> cut_until_;
  std::vector<char> is_revoked_;
  std::vector<std::uint64_t> certificate_count_;  // that each worker had before its present one
  std::set<std::string> denied_;                  // the operator's deny list
  std::vector<StreamPointer> streams_;            // the newest of each worker
  bool is_calm_ = false;
  std::vector<std::uint64_t> calm_counts_;
  std::uint64_t calm_steps_ = 0;
};

}  // namespace ballast::simulate
