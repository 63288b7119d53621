#include "ballast/simulate/world.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "ballast/service/quorum.h"
#include "ballast/simulate/purpose.h"

namespace ballast::simulate {

using std::chrono_literals::operator""ms;  // NOLINT(misc-unused-using-decls): literals use it
using std::chrono_literals::operator""s;   // NOLINT(misc-unused-using-decls): literals use it

namespace {

constexpr Instant kCalmMax = 300s;
constexpr std::uint64_t kDiskBytesMax = 16u << 20;

Status deployed_check(const server::WeightPolicy& policy, std::size_t workers) {
  return service::check_quorum(service::quorum_facts(policy, workers, 0), 0);
}

Scenario scenario_of(const SimulationOptions& options, const ServerComponents& components) {
  Scenario scenario = draw_scenario(
      options.seed, components.is_allowed != nullptr ? components.is_allowed : deployed_check);
  if (!options.method.empty()) scenario.method = options.method;
  return scenario;
}

double seconds(Instant time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

World::World(const SimulationOptions& options, const ServerComponents& components)
    : options_(options),
      components_(components),
      scenario_(scenario_of(options, components)),
      disturbances_(draw_disturbances(options.seed, options.events, scenario_.workers)),
      account_(scenario_, components_),
      disk_rng_({.seed = options.seed, .purpose = kPurposeDisk}),
      workers_max_(scenario_.workers + kGrowth),
      named_(scenario_.workers),
      cut_until_(workers_max_),
      is_revoked_(workers_max_),
      certificate_count_(workers_max_),
      streams_(workers_max_) {
  for (std::uint32_t i = 0; i < workers_max_; ++i) {
    network_rng_.emplace_back(RngKey{.seed = options.seed, .purpose = kPurposeNetwork, .owner = i});
  }
  report_.scenario = scenario_;
}

World::~World() {
  disk_.kill();
  life_.reset();
}

SimulationReport World::run(Workers& workers) {
  workers_ = &workers;
  start_server();
  for (std::uint32_t i = 0; i < scenario_.workers; ++i) workers.begin(i);
  while (!is_over() && report_.events < options_.events && !timeline_.is_empty()) {
    cause_due();
    timeline_.run_one();
    ++report_.events;
  }
  if (!is_over()) calm_down();
  report_.violation = account_.violation();
  report_.time = now();
  report_.accepted = account_.accepted();
  report_.steps = account_.steps();
  return std::move(report_);
}

void World::after(Instant delay, std::function<void()> action) {
  timeline_.after(delay, std::move(action));
}

void World::hash(std::uint64_t number) {
  report_.hash = (report_.hash ^ number) * 0x0000'0100'0000'01b3 + 0x9e37'79b9;
}

void World::trace(const std::string& line) {
  if (!options_.keeps_trace) return;
  report_.trace.push_back(
      fmt::format("{:>6} {:>9.3f} s  {}", report_.events, seconds(now()), line));
}

void World::note(std::uint32_t worker, std::string_view what, std::uint64_t detail) {
  hash(worker);
  for (const char letter : what) hash(static_cast<std::uint64_t>(letter));
  hash(detail);
  hash(static_cast<std::uint64_t>(now().count()));
  if (!options_.keeps_trace) return;
  trace(detail == 0 ? fmt::format("worker {}: {}", worker, what)
                    : fmt::format("worker {}: {}, ticket {}", worker, what, detail));
}

void World::cause_due() {
  while (next_disturbance_ < disturbances_.size() &&
         disturbances_[next_disturbance_].event <= report_.events) {
    const std::size_t number = next_disturbance_++;
    if (options_.only && std::ranges::count(*options_.only, number) == 0) continue;
    report_.happened.push_back(number);
    trace(fmt::format("disturbance {}: {}", number, describe(disturbances_[number])));
    cause(disturbances_[number]);
  }
  if (now() >= full_until_ && full_until_ > Instant::zero()) {
    full_until_ = {};
    disk_.heal();
  }
  constexpr std::uint64_t kLookEvery = 64;
  if (report_.events % kLookEvery == 0 && disk_.bytes() > kDiskBytesMax) {
    account_.fail("memory", fmt::format("{} bytes are on the disk", disk_.bytes()));
  }
}

void World::cause(const Disturbance& disturbance) {
  using enum DisturbanceKind;
  switch (disturbance.kind) {
    case kBreakStream:
    case kForget:
    case kCutOff:
    case kRevoke:
      if (disturbance.worker < scenario_.workers) disturb_worker(disturbance);
      return;
    default:
      if (life_) disturb_server(disturbance);
  }
}

void World::disturb_worker(const Disturbance& disturbance) {
  const std::uint32_t worker = disturbance.worker;
  switch (disturbance.kind) {
    case DisturbanceKind::kForget:
      workers_->forget(worker);
      break;
    case DisturbanceKind::kCutOff:
      cut_until_[worker] = now() + disturbance.length;
      break;
    case DisturbanceKind::kRevoke:
      revoke(disturbance);
      return;
    default:
      break;
  }
  if (streams_[worker]) break_stream(streams_[worker]);
}

void World::disturb_server(const Disturbance& disturbance) {
  next_loss_ = disturbance.change % 2 == 0 ? PowerLoss::kNone : PowerLoss::kTorn;
  switch (disturbance.kind) {
    case DisturbanceKind::kStall:
      busy_until_ = now() + disturbance.length;
      after(disturbance.length, [this] { turn(); });
      return;
    case DisturbanceKind::kKill:
      return crash(PowerLoss::kNone);
    case DisturbanceKind::kPowerLoss:
      return crash(PowerLoss::kTorn);
    case DisturbanceKind::kDieAtWrite:
      return disk_.die_at(disturbance.change);
    case DisturbanceKind::kDiskError:
      return disk_.fail_at(disturbance.change, EIO);
    case DisturbanceKind::kDiskFull:
    case DisturbanceKind::kJournalFull:
      full_until_ = now() + disturbance.length;
      return disk_.fill(disturbance.kind == DisturbanceKind::kJournalFull);
    case DisturbanceKind::kDamage:
      return damage_newest();
    case DisturbanceKind::kEnrol:
      return name_newcomer();
    case DisturbanceKind::kStop:
    default:
      stop_server();
      return restart_soon(1s);
  }
}

// A server without a free place hears of a newcomer when it is started again.
void World::name_newcomer() {
  if (named_ < workers_max_) ++named_;
  if (scenario_.free_places > 0) return;
  stop_server();
  restart_soon(1s);
}

// Only while there is an older one to go back to; a second change could undo the first.
void World::damage_newest() {
  if (was_damaged_) return;
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : disk_.list(kStateFolder).value_or(std::vector<std::string>())) {
    if (name.starts_with("gen-") && !name.ends_with(".tmp")) {
      numbers.push_back(std::strtoull(name.c_str() + 4, nullptr, 10));
    }
  }
  if (numbers.size() < 2) return;
  const std::uint64_t newest = *std::ranges::max_element(numbers);
  if (!disk_.damage(fmt::format("{}/gen-{}", kStateFolder, newest), disk_rng_)) return;
  was_damaged_ = true;
  crash(PowerLoss::kNone);
}

void World::revoke(const Disturbance& disturbance) {
  const std::uint32_t worker = disturbance.worker;
  if (is_revoked_[worker] != 0) return;
  is_revoked_[worker] = 1;
  denied_.insert(certificate_of(worker));
  if (life_) life_->exchange().revoke(worker);
  turn();
  if (is_hostile(worker)) return;
  after(disturbance.length, [this, worker] {
    if (is_revoked_[worker] == 0) return;
    certify_anew(worker);
    workers_->begin(worker);
  });
}

std::string World::certificate_of(std::uint32_t worker) const {
  return fmt::format("certificate {} of worker {}", certificate_count_[worker], worker);
}

void World::certify_anew(std::uint32_t worker) {
  is_revoked_[worker] = 0;
  ++certificate_count_[worker];
  note(worker, "has a new certificate");
}

// Everything that is not hostile works now. Whoever is honest must get on.
void World::calm_down() {
  is_calm_ = true;
  trace("calm: no more faults, and the hostile workers go away");
  scenario_.network = {.delay = 10ms};
  std::ranges::fill(cut_until_, Instant::zero());
  busy_until_ = full_until_ = {};
  disk_.heal();
  workers_->calm_down();
  for (std::uint32_t i = 0; i < scenario_.workers; ++i) {
    if (is_hostile(i) || is_revoked_[i] == 0) continue;
    certify_anew(i);
    workers_->begin(i);
  }
  const Instant end = now() + kCalmMax;
  while (!is_over() && now() < end && !timeline_.is_empty() && !has_progressed()) {
    if (life_ && calm_counts_.empty()) {
      for (std::uint32_t i = 0; i < scenario_.workers; ++i) {
        calm_counts_.push_back(account_.lifetime(i));
      }
      calm_steps_ = account_.steps();
    }
    timeline_.run_one();
    ++report_.events;
  }
  if (!is_over() && !has_progressed()) {
    account_.fail("progress", fmt::format("{} steps in {:.0f} s without faults, and not every "
                                          "honest worker was heard",
                                          account_.steps() - calm_steps_, seconds(kCalmMax)));
  }
}

bool World::has_progressed() const {
  if (calm_counts_.empty() || account_.steps() <= calm_steps_) return false;
  if (scenario_.workers < named_) return false;
  for (std::uint32_t i = 0; i < scenario_.workers; ++i) {
    // Whoever was enrolled since then had sent nothing.
    const std::uint64_t before = i < calm_counts_.size() ? calm_counts_[i] : 0;
    if (!is_hostile(i) && account_.lifetime(i) <= before) return false;
  }
  return true;
}

bool World::is_cut_off(std::uint32_t worker) const { return now() < cut_until_[worker]; }

bool World::is_live(const StreamPointer& stream) const {
  return life_ && stream->life == life_number_ && !stream->has_ended;
}

Instant World::delay(std::uint32_t worker) {
  const double mean = static_cast<double>(scenario_.network.delay.count());
  return Instant(static_cast<std::int64_t>(mean * (0.1 + 1.8 * network_rng_[worker].uniform())));
}

// Messages of a stream stay in order, unless the network is drawn to reorder them.
void World::travel(const StreamPointer& stream, bool to_server, std::function<void()> arrive) {
  Rng& rng = network_rng_[stream->worker];
  const NetworkFaults& network = scenario_.network;
  if (stream->is_broken || is_cut_off(stream->worker)) return;
  if (rng.uniform() < network.drop) return;
  Instant& last = to_server ? stream->to_server : stream->to_worker;
  Instant at = now() + delay(stream->worker);
  if (rng.uniform() >= network.reorder) at = std::max(at, last);
  last = std::max(last, at);
  const auto arrival = [this, stream, arrive = std::move(arrive)] {
    if (stream->is_broken || is_cut_off(stream->worker)) return;
    arrive();
  };
  if (rng.uniform() < network.repeat) after(at + delay(stream->worker) - now(), arrival);
  after(at - now(), arrival);
}

void World::send_join(const StreamPointer& stream, server::Memory memory) {
  travel(stream, true, [this, stream, memory] {
    if (!is_live(stream) || is_revoked_[stream->worker] != 0) return;
    life_->exchange().join(stream->worker, stream->peer, memory);
    turn();
  });
}

void World::send_update(const StreamPointer& stream, UpdateMessage message) {
  travel(stream, true,
         [this, stream, message = std::move(message)] { arrive_update(stream, message); });
}

void World::arrive_update(const StreamPointer& stream, const UpdateMessage& message) {
  if (!is_live(stream) || is_revoked_[stream->worker] != 0) return;
  if (!take_update(stream, message)) {
    end_stream(stream, false);
    after(delay(stream->worker), [this, stream] {
      if (std::exchange(stream->is_broken, true)) return;
      workers_->on_end(stream, std::nullopt);
    });
  }
  turn();
}

void World::send_end(const StreamPointer& stream, bool has_left) {
  travel(stream, true, [this, stream, has_left] {
    end_stream(stream, has_left);
    turn();
  });
}

void World::end_stream(const StreamPointer& stream, bool has_left) {
  if (!is_live(stream)) return;
  stream->has_ended = true;
  life_->exchange().end(stream->worker, stream->peer, has_left);
}

void World::break_stream(const StreamPointer& stream) {
  if (std::exchange(stream->is_broken, true)) return;
  const std::uint32_t worker = stream->worker;
  after(delay(worker), [this, stream] { workers_->on_end(stream, std::nullopt); });
  // The server may notice at once, late, or by the silence alone.
  Rng& rng = network_rng_[worker];
  if (rng.below(4) == 0) return;
  after(Instant(rng.below(5'000'000'000)), [this, stream] {
    end_stream(stream, false);
    turn();
  });
}

}  // namespace ballast::simulate
