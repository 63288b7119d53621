#include "ballast/server.h"

#include <fmt/core.h>

#include <atomic>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "ballast/face/guard.h"
#include "ballast/face/training.h"
#include "ballast/identity/name.h"
#include "ballast/service/http.h"
#include "ballast/service/server_hooks.h"
#include "ballast/service/server_status.h"
#include "ballast/store/checksum.h"
#include "ballast/transport/memory_budget.h"
#include "ballast/transport/server.h"

namespace ballast {
namespace {

constexpr std::chrono::milliseconds kWait{50};        // until something is noticed
constexpr std::chrono::milliseconds kLookMax{1'000};  // for a status while the state is busy
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// The edge of the library: here the machine's clock comes in.
std::chrono::sys_seconds wall_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

service::EventSink events_of(const ServerOptions& options) {
  return [log = options.log](const service::Event& event) {
    if (!log) return;
    const auto now =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    try {
      log(service::log_line(event, now));
    } catch (...) {  // a log that fails is no reason to lose the training
    }
  };
}

Status check(const ServerOptions& options) {
  if (options.names.empty()) return invalid_argument("a server needs the names of its workers");
  for (const std::string& name : options.names) BALLAST_TRY_STATUS(identity::check_name(name));
  if (options.run.empty()) return invalid_argument("the run needs a name");
  if (options.checkpoint_every == 0) return invalid_argument("checkpoints every 0 updates");
  if (options.is_resume && options.state.empty()) {
    return invalid_argument("there is no state to go on from: name its folder");
  }
  if (options.silence_max.count() < 0) return invalid_argument("silence_max is negative");
  return {};
}

// What must be the same for a run to go on from a checkpoint.
std::string configuration(const Training& training, const ServerOptions& options) {
  const Optimizer& optimizer = training.optimizer;
  std::string all = fmt::format(
      "{} {} {} {} {} {} {} {}", static_cast<int>(optimizer.kind), optimizer.eta, optimizer.gamma,
      optimizer.is_theory, optimizer.radius.value_or(0.0), training.seed, training.statistic_count,
      training.method != nullptr ? "own" : fmt::format("{} {}", training.rule, training.weights));
  for (const std::string& name : options.names) all += '\n' + name;
  return store::checksum_text(std::as_bytes(std::span(all)));
}

Result<transport::NetworkServerOptions> network_options(const ServerOptions& options) {
  transport::NetworkServerOptions network{
      .listen = options.listen, .run = options.run, .schema_hash = options.schema};
  network.notice = [events = events_of(options)](const transport::Notice& notice) {
    events({service::Severity::kWarning,
            std::string(name(notice.kind)),
            {{"who", notice.who}, {"why", notice.why}, {"count", notice.count}}});
  };
  if (!options.tls) return network;
  network.tls = {.authority = options.tls->authority,
                 .certificate = options.tls->certificate,
                 .key = options.tls->key};
  BALLAST_TRY(network.identify, transport::make_identify(options.denied, wall_clock));
  return network;
}

service::ServerHooksOptions hooks_options(const ServerOptions& options,
                                          const std::atomic<bool>& stop) {
  return {.updates = options.updates == 0 ? kNever : options.updates,
          .evaluate_every = kNever,
          .unsaved_max = 2 * options.checkpoint_every,
          .events = events_of(options),
          .stop = &stop};
}

}  // namespace

class Server::Body {
 public:
  explicit Body(ServerOptions options) : options_(std::move(options)) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() { static_cast<void>(stop()); }

  Status start(Training training) {
    BALLAST_TRY_STATUS(check(options_));
    BALLAST_TRY(auto network, network_options(options_));
    const std::uint64_t resident = transport::resident_bytes();
    const std::string config = configuration(training, options_);
    BALLAST_TRY(auto made, face::make_server(options_.names.size(), std::move(training),
                                             {.names = options_.names,
                                              .lead = {.f = options_.lead_f},
                                              .waits_for_use = true,
                                              .silence_max = options_.silence_max}));
    BALLAST_TRY(auto checkpoints, service::CheckpointWriter::open(
                                      {.folder = options_.state,
                                       .is_resume = options_.is_resume,
                                       .policy = {.every_updates = options_.checkpoint_every},
                                       .run = options_.run,
                                       .configuration = config,
                                       .clock = wall_clock},
                                      made.server));
    BALLAST_TRY_STATUS(made.fault());
    made.server.begin_incarnation(checkpoints.incarnation());
    resumed_count_ = made.server.accepted_count();
    hooks_ = std::make_unique<service::ServerHooks>(hooks_options(options_, is_stopping_),
                                                    std::move(checkpoints));
    hooks_->publish(made.server);
    last_model_ = face::public_snapshot(made.server.model());
    if (options_.updates > 0 && resumed_count_ >= options_.updates) hooks_->close(made.server);
    auto budget = transport::memory_budget(network.limits, made.server.options(), made.server.dim(),
                                           made.server.method().further_vectors());
    budget.process = resident;  // the parts, which exist by now, are counted on their own
    network.memory_budget = budget.total();
    BALLAST_TRY(auto started, transport::NetworkServer::start(network, std::move(made.server),
                                                              {.hooks = hooks_->hooks()}));
    network_.emplace(std::move(started));
    port_ = network_->port();
    supervisor_ = std::thread([this] { supervise(); });
    return start_http();
  }

  std::uint16_t port() const noexcept { return port_; }
  std::uint16_t http_port() const noexcept { return http_port_; }
  std::uint64_t resumed_count() const noexcept { return resumed_count_; }

  // Runs the function where the state is; false once the server has stopped.
  bool look_at_state(const std::function<void(const server::ParameterServer&)>& look) {
    bool is_seen = false;
    network_->exchange().inspect([&](const server::ParameterServer& server) {
      look(server);
      is_seen = true;
    });
    return is_seen;
  }

  Snapshot model() {
    Snapshot newest;
    if (look_at_state(
            [&](const auto& server) { newest = face::public_snapshot(server.model()); })) {
      return newest;
    }
    const std::lock_guard lock(mutex_);
    return last_model_;
  }

  Result<WorkerFacts> worker(std::uint32_t worker) {
    if (worker >= options_.names.size()) {
      return not_found(fmt::format("there is no worker {}; they are 0 to {}", worker,
                                   options_.names.size() - 1));
    }
    WorkerFacts facts;
    if (look_at_state([&](const auto& server) { facts = face::facts_of(server.worker(worker)); })) {
      return facts;
    }
    return unsupported("the server has stopped");
  }

  service::ServerStatus look() {
    service::ServerStatus status = hooks_->look(kLookMax);
    status.run = options_.run;
    status.network = network_->counts();
    if (status.updates == kNever) status.updates = 0;
    return status;
  }

  Result<bool> wait(std::chrono::milliseconds time_max) {
    const auto begin = std::chrono::steady_clock::now();
    while (!hooks_->is_over()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          time_max - (std::chrono::steady_clock::now() - begin));
      if (left.count() <= 0 || is_stopping_) return false;
      std::this_thread::sleep_for(std::min(kWait, left));
    }
    BALLAST_TRY_STATUS(hooks_->status());
    return true;
  }

  Status stop() {
    const std::lock_guard stop_lock(stop_mutex_);
    if (!network_ || is_stopping_) return hooks_ ? hooks_->status() : Status{};
    network_->exchange().inspect([&](const server::ParameterServer& server) {
      hooks_->close(server);
      const std::lock_guard lock(mutex_);
      last_model_ = face::public_snapshot(server.model());
    });
    is_stopping_ = true;
    if (supervisor_.joinable()) supervisor_.join();
    http_.reset();
    network_->stop(hooks_->why_closed());
    return hooks_->status();
  }

 private:
  Status start_http() {
    if (options_.http.empty()) return {};
    BALLAST_TRY(http_,
                service::HttpServer::start({.listen = options_.http},
                                           [this](std::string_view path) { return answer(path); }));
    http_port_ = http_->port();
    return {};
  }

  service::HttpAnswer answer(std::string_view path) {
    if (path == "/status") return {.type = "application/json", .body = status_json(look())};
    if (path == "/metrics") {
      return {.type = "text/plain; version=0.0.4", .body = metrics_text(look())};
    }
    const auto probed = service::probe(path, {.is_acknowledging = hooks_->is_acknowledging(),
                                              .is_stepping = hooks_->is_stepping(),
                                              .is_over = hooks_->is_over()});
    return probed.value_or(service::HttpAnswer{
        .code = 404, .body = "try /status, /metrics, /livez, /readyz or /healthz\n"});
  }

  // Health checks are told whether the model moves.
  void supervise() {
    while (!is_stopping_) {
      hooks_->wait(kWait);
      static_cast<void>(hooks_->take_snapshot());
      network_->set_training_health(hooks_->is_stepping());
      if (hooks_->is_over()) std::this_thread::sleep_for(kWait);
    }
  }

  const ServerOptions options_;
  std::uint16_t port_ = 0;
  std::uint16_t http_port_ = 0;
  std::uint64_t resumed_count_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::mutex stop_mutex_;
  std::mutex mutex_;
  Snapshot last_model_;  // behind mutex_

  // Each is used by the threads of the next ones, and so outlives them.
  std::unique_ptr<service::ServerHooks> hooks_;
  std::optional<transport::NetworkServer> network_;
  std::thread supervisor_;
  std::unique_ptr<service::HttpServer> http_;
};

Result<Server> Server::start(Training training, ServerOptions options) {
  return face::guarded("the server", [&]() -> Result<Server> {
    auto body = std::make_unique<Body>(std::move(options));
    BALLAST_TRY_STATUS(body->start(std::move(training)));
    return Server(std::move(body));
  });
}

Server::Server(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

std::uint16_t Server::port() const noexcept { return body_ == nullptr ? 0 : body_->port(); }
std::uint16_t Server::http_port() const noexcept {
  return body_ == nullptr ? 0 : body_->http_port();
}
std::uint64_t Server::resumed_count() const noexcept {
  return body_ == nullptr ? 0 : body_->resumed_count();
}

Result<Snapshot> Server::model() const {
  if (body_ == nullptr) return face::moved_from("Server");
  return face::guarded("model", [&]() -> Result<Snapshot> { return body_->model(); });
}

Result<std::string> Server::status() const {
  if (body_ == nullptr) return face::moved_from("Server");
  return face::guarded(
      "status", [&]() -> Result<std::string> { return service::status_json(body_->look()); });
}

Result<WorkerFacts> Server::worker(std::uint32_t worker) const {
  if (body_ == nullptr) return face::moved_from("Server");
  return face::guarded("worker", [&] { return body_->worker(worker); });
}

Result<std::uint64_t> Server::accepted_count() const {
  if (body_ == nullptr) return face::moved_from("Server");
  return face::guarded("accepted_count",
                       [&]() -> Result<std::uint64_t> { return body_->look().accepted; });
}

Result<bool> Server::wait(std::chrono::milliseconds time_max) const {
  if (body_ == nullptr) return face::moved_from("Server");
  return face::guarded("wait", [&] { return body_->wait(time_max); });
}

Status Server::stop() {
  if (body_ == nullptr) return face::moved_from("Server");
  return face::guarded("stop", [&] { return body_->stop(); });
}

}  // namespace ballast
