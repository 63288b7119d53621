// Private to simulate/: the lives of the server in a simulated world.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "ballast/simulate/same_state.h"
#include "ballast/simulate/world.h"
#include "ballast/wire/payload.h"

namespace ballast::simulate {

using std::chrono_literals::operator""ms;  // NOLINT(misc-unused-using-decls): literals use it
using std::chrono_literals::operator""s;   // NOLINT(misc-unused-using-decls): literals use it

class SimulatedPeer final : public transport::Peer {
 public:
  SimulatedPeer(World& world, std::weak_ptr<SimulatedStream> stream, std::string certificate)
      : world_(world), stream_(std::move(stream)), certificate_(std::move(certificate)) {}

  void deliver(transport::Delivery delivery) override {
    if (const auto stream = stream_.lock()) world_.on_deliver(stream, delivery);
  }
  void close(transport::Close why) override {
    if (const auto stream = stream_.lock()) world_.on_close(stream, why);
  }
  const std::string& certificate() const noexcept override { return certificate_; }

 private:
  World& world_;
  std::weak_ptr<SimulatedStream> stream_;
  std::string certificate_;
};

namespace {

constexpr const char* kMacRun = "simulated";

bool has_checkpoint(const Disk& disk) {
  const auto names = disk.list(kStateFolder);
  return names && std::ranges::any_of(*names, [](const std::string& name) {
           return name.starts_with("gen-") && !name.ends_with(".tmp");
         });
}

// Not a secret, but nobody in a simulation breaks codes.
wire::MacBytes simulated_mac(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x0000'0100'0000'01b3;
  }
  wire::MacBytes mac{};
  for (std::size_t i = 0; i < 8; ++i) mac[i] = static_cast<std::byte>(hash >> (8 * i));
  return mac;
}

}  // namespace

void World::restart_soon(Instant delay) {
  after(delay, [this] {
    if (!life_ && !is_over()) start_server();
  });
}

ServerSurroundings World::surroundings() {
  return {.disk = &disk_,
          .now = [this] { return now(); },
          .sleep = [this](Instant time) { sleep(time); },
          .events = [this](const service::Event& event) { on_event(event); },
          .watch = [this](const auto& hooks) { return watch(hooks); }};
}

void World::start_server() {
  while (scenario_.workers < named_) {
    if (scenario_.free_places > 0) --scenario_.free_places;
    workers_->begin(static_cast<std::uint32_t>(scenario_.workers++));
  }
  const bool is_resume = has_checkpoint(disk_);
  const std::uint64_t faults = disk_.fault_count();
  is_saved_ = is_save_tried_ = false;
  auto life = ServerLife::start(scenario_, components_, is_resume, surroundings());
  if (life && !disk_.is_dead()) {
    life_ = *std::move(life);
    ++life_number_;
    ++report_.lives;
    trace(fmt::format("server: life {} begins, {}", life_number_,
                      is_resume ? "resumed" : "from nothing"));
    life_->exchange().inspect([&](const server::ParameterServer& server) {
      account_.begin_life(server, life_->incarnation(), life_->resumed(), was_damaged_, now());
    });
    hash(life_number_);
    drop_revoked_rows();
    tick();
    return;
  }
  if (life) life->reset();
  const std::string why = life ? "died" : life.error().message;
  trace("server: cannot start: " + why);
  if (disk_.fault_count() == faults) {
    account_.fail("resume", "the server cannot start: " + why);
    return;
  }
  if (disk_.is_dead()) disk_.restart(next_loss_, disk_rng_);
  // As the program does when a new run cannot begin.
  if (!is_resume && !has_checkpoint(disk_)) (void)disk_.remove_tree(kStateFolder);
  restart_soon(2s);
}

// As serve() does between its other duties. What cannot be kept now is tried again.
void World::enrol_newcomers() {
  if (now() < busy_until_ || scenario_.free_places == 0) return;
  if (scenario_.workers == named_ || !life_->hooks().is_acknowledging()) return;
  const auto worker = static_cast<std::uint32_t>(scenario_.workers);
  const std::string name = worker_name(worker);
  const auto number = life_->exchange().enrol(
      name, [&](const auto& server) { return life_->hooks().keep_enrolment(server, name); });
  if (number) {
    if (*number != worker) account_.fail("counts", fmt::format("{} has number {}", name, *number));
    ++scenario_.workers;
    --scenario_.free_places;
    if (twin_) twin_->on_enrol(name);
    note(worker, "is enrolled");
    workers_->begin(worker);
  }
  (number ? is_saved_ : is_save_tried_) = true;
  life_->exchange().inspect([&](const server::ParameterServer& server) { after_hook(server); });
  if (disk_.is_dead()) crash(next_loss_);
}

// What the network server does at its first look at the deny list: whoever joined under a
// certificate that was revoked while no server ran loses the row that a checkpoint kept.
void World::drop_revoked_rows() {
  const std::vector<std::string>& certificates = life_->certificates();
  bool is_any = false;
  for (std::uint32_t i = 0; i < certificates.size(); ++i) {
    if (!denied_.contains(certificates[i])) continue;
    life_->exchange().revoke(i);
    is_any = true;
  }
  if (is_any) turn();
}

transport::ExchangeHooks World::watch(const transport::ExchangeHooks& hooks) {
  return {.judged = [this, hooks](const auto& server,
                                  const auto& update) { return on_judged(hooks, server, update); },
          .refused = hooks.refused,
          .member =
              [this, hooks](auto worker, auto event) {
                on_member(worker, event);
                hooks.member(worker, event);
              },
          .certificate = hooks.certificate,
          .tick =
              [this, hooks](const auto& server) {
                hooks.tick(server);
                after_hook(server);
              }};
}

std::optional<transport::Close> World::on_judged(const transport::ExchangeHooks& hooks,
                                                 const server::ParameterServer& server,
                                                 const transport::JudgedUpdate& update) {
  account_.on_judged(server, update);
  note(update.worker, server::name(update.outcome.verdict), update.ticket.sequence);
  if (update.outcome.verdict == server::Verdict::kAccepted) {
    hash(server.model().version);
    for (const float value : *server.model().values) {
      hash(static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(value)));
    }
  }
  if (twin_) {
    if (const auto difference = twin_->on_judged(server, update)) {
      account_.fail("continuation",
                    "a server made from the last checkpoint goes another way: " + *difference);
    }
  }
  const auto objection = hooks.judged(server, update);
  after_hook(server);
  return objection;
}

void World::on_member(std::uint32_t worker, transport::MemberEvent event) {
  account_.on_member(worker, event, now());
  if (twin_) twin_->on_member(worker, event);
  constexpr std::array<std::string_view, 9> kNames = {"joined", "started anew", "replaced",
                                                      "held",   "released",     "gone",
                                                      "left",   "evicted",      "revoked"};
  note(worker, kNames[static_cast<std::size_t>(event)]);
}

void World::on_event(const service::Event& event) {
  if (event.name == "checkpoint") is_saved_ = true;
  if (event.name == "checkpoint-failed") is_save_tried_ = true;
}

// The state is as it was when the hook saved it.
void World::after_hook(const server::ParameterServer& server) {
  const bool is_dead = disk_.is_dead();
  const bool is_confirmed = std::exchange(is_saved_, false) && !is_dead;
  const bool is_tried = std::exchange(is_save_tried_, false) || is_dead;
  if (!is_confirmed && !is_tried) return;
  account_.on_checkpoint(server, is_confirmed);
  if (!is_confirmed) return;
  trace(fmt::format("server: checkpoint of {} updates", server.accepted_count()));
  was_damaged_ = false;
  ++report_.checkpoints;
  if (twin_ && report_.checkpoints % 3 != 0) return;
  auto twin = Twin::make(disk_, scenario_, components_);
  if (!twin) {
    account_.fail("restore", "the newest checkpoint cannot be restored: " + twin.error().message);
    return;
  }
  if (const auto difference = difference_after_resume(server.state(), twin->server().state())) {
    account_.fail("restore", "the newest checkpoint is not what was saved: " + *difference);
  }
  twin_.emplace(*std::move(twin));
  twin_->take_tickets(server);
}

void World::on_deliver(const StreamPointer& stream, const transport::Delivery& delivery) {
  if (!life_ || disk_.is_dead() || stream->life != life_number_) return;
  account_.on_delivery(stream->worker, delivery, now());
  if (twin_ && delivery.next) twin_->on_issued(delivery.next->ticket);
  ModelMessage message{.verdict = delivery.verdict};
  if (delivery.next) {
    message.ticket = wire::seal_ticket(delivery.next->ticket, kMacRun, simulated_mac);
    message.sequence = delivery.next->ticket.sequence;
    message.model = *delivery.next->model.values;
  }
  travel(stream, false, [this, stream, message] { workers_->on_message(stream, message); });
}

void World::on_close(const StreamPointer& stream, transport::Close why) {
  if (!life_ || disk_.is_dead() || stream->life != life_number_) return;
  account_.on_close(stream->worker, why, now());
  stream->has_ended = true;
  after(delay(stream->worker), [this, stream, why] {
    if (std::exchange(stream->is_broken, true)) return;
    workers_->on_end(stream, why);
  });
}

// The server does what it has to do, unless it is busy with itself.
void World::turn() {
  if (!life_ || now() < busy_until_) return;
  account_.begin_turn(now());
  life_->exchange().work();
  after_turn();
}

void World::after_turn() {
  if (disk_.is_dead()) {
    crash(next_loss_);
    return;
  }
  if (life_->hooks().is_over()) {
    trace("server: gives up: " + life_->hooks().status().error().message);
    stop_server();
    restart_soon(3s);
    return;
  }
  check();
}

void World::check() {
  check_snapshot();
  life_->exchange().inspect([&](const server::ParameterServer& server) {
    account_.check(server, now());
    for (std::uint32_t i = 0; i < scenario_.workers; ++i) {
      if (is_revoked_[i] == 0 || server.worker(i).count == 0) continue;
      account_.fail("revoked", fmt::format("worker {} is revoked and keeps its row", i));
    }
  });
}

void World::check_snapshot() {
  const auto snapshot = life_->hooks().take_snapshot();
  if (!snapshot || scenario_.statistic_count == 0 || snapshot->model.version == 0) return;
  if (!snapshot->statistics) account_.fail("statistics", "an evaluation has no statistics");
}

void World::tick() {
  timeline_.after(scenario_.tick, [this, number = life_number_] {
    if (!life_ || number != life_number_) return;
    turn();
    if (life_ && number == life_number_) enrol_newcomers();
    if (life_ && number == life_number_) tick();
  });
}

// As serve() does at the end.
void World::stop_server() {
  if (!life_) return;
  account_.begin_turn(now());
  life_->exchange().inspect([&](const server::ParameterServer& server) {
    life_->hooks().close(server);
    after_hook(server);
  });
  if (disk_.is_dead()) {
    crash(next_loss_);
    return;
  }
  life_->exchange().stop();
  life_->exchange().work();
  trace("server: stopped");
  forget_life();
}

void World::crash(PowerLoss loss) {
  if (!life_) return;
  trace(loss == PowerLoss::kNone ? "server: killed" : "server: loses its power");
  disk_.kill();  // what is closed now does not reach it
  forget_life();
  disk_.restart(loss, disk_rng_);
  if (now() < full_until_) disk_.fill(false);
  restart_soon(500ms + Instant(disk_rng_.below(5'000'000'000)));
}

void World::forget_life() {
  life_.reset();
  twin_.reset();
  busy_until_ = {};
  for (const StreamPointer& stream : streams_) {
    if (stream) break_stream(stream);
  }
}

// The thread that owns the state waits: for a checkpoint that succeeds.
void World::sleep(Instant time) {
  timeline_.pass(time);
  if (now() >= full_until_) disk_.heal();
  if (disk_.is_dead()) life_->stop_waiting();
}

// World's half of the wire that knows tickets.

bool World::take_update(const StreamPointer& stream, const UpdateMessage& message) {
  transport::Exchange& exchange = life_->exchange();
  const auto ticket = wire::open_ticket(message.ticket, kMacRun, simulated_mac);
  if (!ticket) {
    exchange.refuse(stream->worker, server::Verdict::kForged);
    return false;
  }
  if (!exchange.begin_update(stream->worker, *stream->peer, wire::Encoding::kFloat32)) return false;
  std::vector<float> values = message.values;
  if (message.fault == UpdateFault::kTooLong) values.push_back(1.0f);
  const bool is_half = message.fault == UpdateFault::kHalf;
  if (is_half) values.resize(values.size() / 2);
  wire::PayloadWriter writer(values, is_half ? std::span<const float>() : message.statistics,
                             wire::Encoding::kFloat32);
  while (!writer.is_done()) {
    wire::Chunk chunk = writer.next();
    if (message.fault == UpdateFault::kChecksum) chunk.checksum ^= 1;
    const auto taken = exchange.take_chunk(stream->worker, stream->peer, *ticket, chunk);
    if (taken) continue;
    if (taken.error().code == ErrorCode::kInvalidArgument) {
      exchange.refuse(stream->worker, server::Verdict::kMalformed);
    }
    return false;
  }
  return true;
}

StreamPointer World::connect(std::uint32_t worker) {
  if (!life_ || is_revoked_[worker] != 0 || is_cut_off(worker) || worker >= scenario_.workers) {
    return nullptr;
  }
  auto stream = std::make_shared<SimulatedStream>();
  stream->worker = worker;
  stream->life = life_number_;
  stream->peer = std::make_shared<SimulatedPeer>(*this, stream, certificate_of(worker));
  streams_[worker] = stream;
  return stream;
}

}  // namespace ballast::simulate
