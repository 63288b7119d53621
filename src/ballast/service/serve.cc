#include "ballast/service/serve.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "ballast/experiment/assembly.h"
#include "ballast/identity/name.h"
#include "ballast/service/http.h"
#include "ballast/service/line_budget.h"
#include "ballast/service/steward.h"
#include "ballast/transport/memory_budget.h"
#include "ballast/transport/server.h"

namespace ballast::service {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // until a wish to stop is noticed

Result<std::vector<std::string>> names_of(const Plan& plan, const ServeOptions& options) {
  if (options.names.empty()) return default_names(plan.run().workers);
  if (options.names.size() != plan.run().workers) {
    return invalid_argument(fmt::format("{} workers are named, but the specification has {}",
                                        options.names.size(), plan.run().workers));
  }
  for (const std::string& name : options.names) BALLAST_TRY_STATUS(identity::check_name(name));
  return options.names;
}

KeeperOptions keeper_options(const Plan& plan, const ServeOptions& options,
                             const std::vector<std::string>& names) {
  return {.folder = options.state,
          .is_resume = options.is_resume,
          .policy = options.checkpoints,
          .run = plan.planned.name,
          .configuration = configuration(plan.planned, names),
          .clock = options.clock};
}

Result<transport::NetworkServerOptions> network_options(const Plan& plan,
                                                        const ServeOptions& options) {
  transport::NetworkServerOptions network{
      .listen = options.listen, .run = plan.planned.name, .schema_hash = plan.schema_hash};
  network.notice = [&events = options.events](const transport::Notice& notice) {
    events({Severity::kWarning,
            fmt::format(R"("event":"{}","who":{},"why":{},"count":{})", name(notice.kind),
                        json_text(notice.who), json_text(notice.why), notice.count)});
  };
  if (options.credentials) {
    network.tls = options.credentials->files;
    BALLAST_TRY(network.identify, make_identify(options.credentials->denied, options.clock));
  }
  return network;
}

// The server, who watches over it, and the evaluations.
class Service {
 public:
  static Result<std::unique_ptr<Service>> start(const Plan& plan, const ServeOptions& options) {
    std::unique_ptr<Service> service(new Service(plan, options));
    BALLAST_TRY_STATUS(service->start_network());
    BALLAST_TRY_STATUS(service->start_http());
    return service;
  }

  Result<ServeReport> run() {
    // A run that was complete when it was resumed has nothing left to wait for.
    const bool is_complete = look().accepted >= plan_.run().updates;
    while (!is_complete && !steward_->is_over() &&
           !(options_.stop != nullptr && options_.stop->load())) {
      steward_->wait(kWait);
      network_->set_training_health(steward_->is_stepping());
      tell_of_ended_connections();
      BALLAST_TRY_STATUS(evaluate());
    }
    return finish();
  }

 private:
  Service(const Plan& plan, const ServeOptions& options) : plan_(plan), options_(options) {}

  Status start_network() {
    const learn::Model& model = *plan_.material.model;
    BALLAST_TRY(const std::vector<std::string> names, names_of(plan_, options_));
    BALLAST_TRY(evaluator_, model.make_evaluator(plan_.material.data.test));
    server::AdmissionOptions admission = experiment::network_admission(plan_.run());
    admission.names = names;
    admission.silence_max = options_.silence_max;
    BALLAST_TRY(auto server,
                experiment::make_server(plan_.run(), plan_.planned.seed, model, admission));
    BALLAST_TRY(Keeper keeper, Keeper::open(keeper_options(plan_, options_, names), server));
    server.begin_incarnation(keeper.incarnation());
    for (const std::string& damage : keeper.damages()) {
      options_.events(
          {Severity::kWarning, R"("event":"damaged-generation","why":)" + json_text(damage)});
    }
    steward_ =
        std::make_unique<Steward>(StewardOptions{.names = names,
                                                 .updates = plan_.run().updates,
                                                 .evaluate_every = plan_.run().evaluate_every,
                                                 .events = options_.events},
                                  std::move(keeper));
    BALLAST_TRY(auto network, network_options(plan_, options_));
    memory_budget_ =
        transport::memory_budget(network.limits, server.options(), server.dim()).total();
    network.memory_budget = memory_budget_;
    BALLAST_TRY(auto started, transport::NetworkServer::start(network, std::move(server),
                                                              {.hooks = steward_->hooks()}));
    network_.emplace(std::move(started));
    return {};
  }

  Status start_http() {
    Ports ports{.server = network_->port()};
    if (!options_.http.empty()) {
      BALLAST_TRY(http_, HttpServer::start(options_.http,
                                           [this](std::string_view path) { return answer(path); }));
      ports.http = http_->port();
    }
    options_.events(
        {Severity::kInfo,
         fmt::format(R"("event":"listening","run":{},"port":{},"http_port":{},"memory_budget":{})",
                     json_text(plan_.planned.name), ports.server, ports.http, memory_budget_)});
    return options_.on_listening(ports);
  }

  Figures look() {
    Figures figures;
    network_->exchange().inspect(
        [&](const server::ParameterServer& server) { figures = steward_->look(server); });
    return completed(std::move(figures));
  }

  Figures completed(Figures figures) {
    figures.run = plan_.planned.name;
    figures.network = network_->counts();
    const std::lock_guard lock(mutex_);
    figures.evaluation = evaluation_;
    return figures;
  }

  HttpAnswer answer(std::string_view path) {
    if (path == "/status") return {.type = "application/json", .body = status_json(look())};
    if (path == "/metrics") {
      return {.type = "text/plain; version=0.0.4", .body = metrics_text(look())};
    }
    if (path != "/healthz") {
      return {.code = 404, .body = "try /status, /metrics or /healthz\n"};
    }
    const bool is_stepping = steward_->is_stepping();
    return {.code = is_stepping ? 200 : 503, .body = is_stepping ? "training\n" : "paused\n"};
  }

  Status evaluate() {
    const auto exhibit = steward_->take_exhibit();
    if (!exhibit) return {};
    const std::vector<float> statistics =
        exhibit->statistics ? *exhibit->statistics : plan_.material.model->initial_statistics();
    BALLAST_TRY(const worker::Evaluation result,
                evaluator_->evaluate(*exhibit->model.values, statistics));
    options_.events(
        {Severity::kInfo,
         fmt::format(R"("event":"evaluation","accepted":{},"accuracy":{},"loss":{})",
                     exhibit->accepted, json_number(result.accuracy), json_number(result.loss))});
    const std::lock_guard lock(mutex_);
    evaluation_ = {exhibit->accepted, result.accuracy, result.loss};
    return {};
  }

  void tell_of_ended_connections() {
    const transport::GuardCounts counts = network_->counts().guard;
    if (counts.ended() == ended_told_) return;
    if (!lines_.spend(0, std::chrono::steady_clock::now())) return;
    const std::uint64_t news = counts.ended() - std::exchange(ended_told_, counts.ended());
    options_.events(
        {Severity::kWarning,
         fmt::format(R"("event":"connections-ended","count":{},"calls":{},"strange":{},)"
                     R"("unread":{})",
                     news, counts.ended_calls, counts.ended_strange, counts.ended_unread)});
  }

  Result<ServeReport> finish() {
    network_->exchange().inspect(
        [&](const server::ParameterServer& server) { steward_->close(server); });
    http_.reset();
    network_->stop(steward_->why_closed());
    BALLAST_TRY_STATUS(steward_->status());
    BALLAST_TRY_STATUS(evaluate());
    Figures figures = completed(steward_->last());
    const bool is_complete = figures.accepted >= figures.updates;
    options_.events(
        {Severity::kInfo, fmt::format(R"("event":"stopped","accepted":{})", figures.accepted)});
    return ServeReport{.figures = std::move(figures), .is_complete = is_complete};
  }

  const Plan& plan_;
  const ServeOptions& options_;
  std::unique_ptr<worker::Evaluator> evaluator_;
  std::mutex mutex_;
  std::optional<EvaluationFigures> evaluation_;  // behind mutex_
  std::uint64_t memory_budget_ = 0;              // in bytes
  LineBudget lines_{1};                          // for connections that were ended
  std::uint64_t ended_told_ = 0;

  // Each is used by the threads of the next ones, and so outlives them.
  std::unique_ptr<Steward> steward_;
  std::optional<transport::NetworkServer> network_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

Result<ServeReport> serve(const Plan& plan, const ServeOptions& options) {
  BALLAST_TRY(const auto service, Service::start(plan, options));
  return service->run();
}

}  // namespace ballast::service
