#include "ballast/service/serve.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "ballast/assembly/model_file.h"
#include "ballast/assembly/parts.h"
#include "ballast/service/enrolment.h"
#include "ballast/service/event.h"
#include "ballast/service/http.h"
#include "ballast/service/quorum.h"
#include "ballast/service/run_folder.h"
#include "ballast/service/server_hooks.h"
#include "ballast/service/server_status.h"
#include "ballast/store/inspect.h"
#include "ballast/transport/memory_budget.h"
#include "ballast/transport/server.h"

namespace ballast::service {
namespace {

constexpr std::chrono::milliseconds kWait{50};         // until a wish to stop is noticed
constexpr std::chrono::milliseconds kEnrolEvery{500};  // between looks at the workers file
constexpr std::chrono::milliseconds kLookMax{1'000};   // for a status while the state is busy

// Who is asked to take part, beside those that a resumed run has already.
Result<std::vector<std::string>> names_of(const Plan& plan, const ServeOptions& options,
                                          const store::Manifest* stored) {
  if (!options.workers_file.empty()) return read_workers_file(options.workers_file);
  const std::size_t known = stored != nullptr ? stored->workers.size() : 0;
  if (options.names.empty() && known >= plan.run().workers) return std::vector<std::string>();
  if (options.names.empty()) return default_names(plan.run().workers);
  if (options.names.size() != plan.run().workers) {
    return invalid_argument(fmt::format("{} workers are named, but the specification has {}",
                                        options.names.size(), plan.run().workers));
  }
  return options.names;
}

Result<Enrolment> enrolment_of(const Plan& plan, const ServeOptions& options) {
  std::optional<store::Manifest> stored;
  if (options.is_resume) {
    // What is wrong with it is said by the resume itself.
    auto newest = store::read_newest_manifest(options.state);
    if (newest) stored = *std::move(newest);
  }
  const store::Manifest* const before = stored ? &*stored : nullptr;
  BALLAST_TRY(std::vector<std::string> names, names_of(plan, options, before));
  return enrol({.names = std::move(names),
                .places = options.places,
                .free_places = options.workers_file.empty() ? 0 : kFreePlaces},
               before);
}

CheckpointWriterOptions checkpoint_options(const Plan& plan, const ServeOptions& options,
                                           const Enrolment& enrolment) {
  return {.folder = options.state,
          .is_resume = options.is_resume,
          .policy = options.checkpoints,
          .run = plan.planned.name,
          .configuration = configuration(plan.planned),
          .workers = enrolment.workers,
          .clock = options.clock};
}

ServerHooksOptions hooks_options(const Plan& plan, const ServeOptions& options) {
  const std::uint64_t unsaved_max = options.unsaved_max > 0
                                        ? options.unsaved_max
                                        : 2 * options.checkpoints.every_updates.value_or(1000);
  return {.updates = plan.run().updates,
          .evaluate_every = plan.run().evaluate_every,
          .write_every = options.model_out.empty() ? 0 : options.model_every,
          .unsaved_max = unsaved_max,
          .events = options.events,
          .stop = options.stop};
}

Result<transport::NetworkServerOptions> network_options(const Plan& plan,
                                                        const ServeOptions& options) {
  transport::NetworkServerOptions network{
      .listen = options.listen, .run = plan.planned.name, .schema_hash = plan.schema_hash};
  network.notice = [&events = options.events](const transport::Notice& notice) {
    events({Severity::kWarning,
            std::string(name(notice.kind)),
            {{"who", notice.who}, {"why", notice.why}, {"count", notice.count}}});
  };
  if (options.credentials) {
    network.tls = options.credentials->files;
    BALLAST_TRY(network.identify, make_identify(options.credentials->denied, options.clock));
  }
  return network;
}

// The server, the hooks around its state, and the evaluations.
class ServerRun {
 public:
  static Result<std::unique_ptr<ServerRun>> start(const Plan& plan, const ServeOptions& options) {
    std::unique_ptr<ServerRun> run(new ServerRun(plan, options));
    if (options.credentials) {
      BALLAST_TRY_STATUS(check_credentials(*options.credentials, options.clock()));
    }
    BALLAST_TRY(run->network_options_, network_options(plan, options));
    BALLAST_TRY(run->enrolment_, enrolment_of(plan, options));
    run->count_quorum();
    BALLAST_TRY_STATUS(check_quorum(run->quorum_, options.workers_min));
    BALLAST_TRY(run->evaluator_, plan.material.model->make_evaluator(plan.material.data.test));
    // From here on there are things on the disk; a start that fails takes them back.
    const FolderUndo before(options.state);
    Status started = run->start_network();
    if (started) started = run->start_http();
    if (started) return run;
    run.reset();
    if (!options.state.empty() && !options.is_resume) before.undo();
    return tl::unexpected(std::move(started).error());
  }

  Result<ServeReport> run() {
    if (was_complete_) {
      options_.events({Severity::kInfo, "already-complete", {{"accepted", plan_.run().updates}}});
    }
    while (!hooks_->is_over() && !is_stopped()) {
      hooks_->wait(kWait);
      network_->set_training_health(hooks_->is_stepping());
      report_ended_connections();
      enrol_newcomers();
      use_snapshot();
    }
    return finish();
  }

 private:
  ServerRun(const Plan& plan, const ServeOptions& options) : plan_(plan), options_(options) {
    if (!options.workers_file.empty()) workers_file_.emplace(options.workers_file);
  }

  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  void count_quorum() {
    quorum_ = quorum_facts(assembly::weight_policy(plan_.run()), enrolment_.workers.size(),
                           options_.workers_min);
  }

  Result<server::ParameterServer> make_server() const {
    assembly::RunSpec run = plan_.run();
    run.workers = enrolment_.places;
    server::AdmissionOptions admission = assembly::network_admission(run);
    admission.names = enrolment_.names();
    admission.free_places = enrolment_.places - enrolment_.workers.size();
    admission.silence_max = options_.silence_max;
    return assembly::make_server(
        run, plan_.planned.seed, plan_.material, admission,
        {.threads = options_.threads, .rows_min = std::max<std::size_t>(options_.workers_min, 1)});
  }

  Status start_network() {
    const std::uint64_t resident = transport::resident_bytes();
    BALLAST_TRY(auto server, make_server());
    BALLAST_TRY(CheckpointWriter checkpoints,
                CheckpointWriter::open(checkpoint_options(plan_, options_, enrolment_), server));
    server.begin_incarnation(checkpoints.incarnation());
    for (const store::EnrolledWorker& worker : checkpoints.workers()) {
      network_options_.certificates.push_back(worker.certificate);
    }
    if (!options_.state.empty()) BALLAST_TRY_STATUS(describe_run(options_.state, plan_));
    report_resume(checkpoints);
    hooks_ = std::make_unique<ServerHooks>(hooks_options(plan_, options_), std::move(checkpoints));
    hooks_->publish(server);
    was_complete_ = server.accepted_count() >= plan_.run().updates;
    if (was_complete_) hooks_->close(server);  // before anybody can send one more
    transport::MemoryBudget budget = transport::memory_budget(
        network_options_.limits, server.options(), server.dim(), server.method().further_vectors());
    budget.process = resident;  // the parts, which exist by now, are counted on their own
    memory_budget_ = network_options_.memory_budget = budget.total();
    BALLAST_TRY(auto started, transport::NetworkServer::start(network_options_, std::move(server),
                                                              {.hooks = hooks_->hooks()}));
    network_.emplace(std::move(started));
    return {};
  }

  void report_resume(const CheckpointWriter& checkpoints) const {
    if (!checkpoints.resumed()) return;
    const ResumeFacts& facts = *checkpoints.resumed();
    for (const std::string& damage : facts.damages) {
      options_.events({Severity::kWarning, "damaged-generation", {{"why", damage}}});
    }
    options_.events(
        {facts.lost > 0 ? Severity::kWarning : Severity::kInfo,
         "resumed",
         {{"generation", facts.generation}, {"accepted", facts.accepted}, {"lost", facts.lost}}});
  }

  Status start_http() {
    Ports ports{.server = network_->port()};
    if (!options_.http.empty()) {
      BALLAST_TRY(http_, HttpServer::start({.listen = options_.http, .hosts = options_.http_hosts},
                                           [this](std::string_view path) { return answer(path); }));
      ports.http = http_->port();
    }
    options_.events({Severity::kInfo,
                     "listening",
                     {{"run", plan_.planned.name},
                      {"port", ports.server},
                      {"http_port", ports.http},
                      {"memory_budget", memory_budget_},
                      {"workers", quorum_.workers},
                      {"places", enrolment_.places},
                      {"quorum", quorum_.quorum},
                      {"may_be_away", quorum_.workers - quorum_.quorum}}});
    const auto warning = weights_warning(assembly::weight_policy(plan_.run()), quorum_);
    if (warning) options_.events({Severity::kWarning, "weights", {{"why", *warning}}});
    if (options_.is_resume) {
      for (const std::string& name : enrolment_.added) report_enrolled(name);
    }
    return options_.on_listening(ports);
  }

  ServerStatus look() {
    ServerStatus status = hooks_->look(kLookMax);
    status.run = plan_.planned.name;
    status.network = network_->counts();
    const std::lock_guard lock(mutex_);
    status.evaluation = evaluation_;
    return status;
  }

  HttpAnswer answer(std::string_view path) {
    if (path == "/status") return {.type = "application/json", .body = status_json(look())};
    if (path == "/metrics") {
      return {.type = "text/plain; version=0.0.4", .body = metrics_text(look())};
    }
    const auto probed = probe(path, {.is_acknowledging = hooks_->is_acknowledging(),
                                     .is_stepping = hooks_->is_stepping(),
                                     .is_over = hooks_->is_over()});
    return probed.value_or(
        HttpAnswer{.code = 404, .body = "try /status, /metrics, /livez, /readyz or /healthz\n"});
  }

  // What fails here must not end the run: the state is worth more than a look at it.
  void use_snapshot() {
    const auto snapshot = hooks_->take_snapshot();
    if (!snapshot) return;
    const std::vector<float> statistics =
        snapshot->statistics ? *snapshot->statistics : plan_.material.model->initial_statistics();
    if (snapshot->is_to_evaluate) evaluate(*snapshot, statistics);
    if (snapshot->is_to_write) write_model(*snapshot, statistics);
  }

  void evaluate(const ModelSnapshot& snapshot, const std::vector<float>& statistics) {
    const auto result = evaluator_->evaluate(*snapshot.model.values, statistics);
    if (!result) {
      options_.events({Severity::kError,
                       "evaluation-failed",
                       {{"accepted", snapshot.accepted}, {"why", result.error().message}}});
      return;
    }
    options_.events({Severity::kInfo,
                     "evaluation",
                     {{"accepted", snapshot.accepted},
                      {"accuracy", result->accuracy},
                      {"loss", result->loss}}});
    const std::lock_guard lock(mutex_);
    evaluation_ = {snapshot.accepted, result->accuracy, result->loss};
  }

  void write_model(const ModelSnapshot& snapshot, const std::vector<float>& statistics) {
    if (options_.model_out.empty()) return;
    model_written_ = assembly::write_model(
        options_.model_out, *plan_.material.model, assembly::input_of(*plan_.material.data.train),
        {.parameters = *snapshot.model.values, .statistics = statistics},
        {.run = plan_.planned.name, .seed = plan_.planned.seed, .updates = snapshot.accepted});
    options_.events(
        model_written_
            ? Event{Severity::kInfo,
                    "model-written",
                    {{"path", options_.model_out.string()}, {"accepted", snapshot.accepted}}}
            : Event{Severity::kError, "model-failed", {{"why", model_written_.error().message}}});
  }

  void report_ended_connections() {
    const transport::GuardCounts counts = network_->counts().guard;
    if (counts.ended() == ended_told_) return;
    if (!lines_.spend(0, std::chrono::steady_clock::now())) return;
    const std::uint64_t news = counts.ended() - std::exchange(ended_told_, counts.ended());
    options_.events({Severity::kWarning,
                     "connections-ended",
                     {{"count", news},
                      {"calls", counts.ended_calls},
                      {"strange", counts.ended_strange},
                      {"unread", counts.ended_unread}}});
  }

  // Who has come into the workers file since the last look takes part from now on, once that is
  // safe on the disk; what fails is tried again. While the server waits for a checkpoint to succeed
  // the state thread would not answer.
  void enrol_newcomers() {
    const auto now = std::chrono::steady_clock::now();
    if (!workers_file_ || now - enrolled_at_ < kEnrolEvery || !hooks_->is_acknowledging()) return;
    enrolled_at_ = now;
    if (auto named = workers_file_->look()) {
      enrolment_told_.clear();
      if (*named) {
        named_ = **std::move(named);
      } else {
        report_once("workers-file-unusable", "", named->error().message);
      }
    }
    for (const std::string& name : named_) {
      if (enrolment_.has(name)) continue;
      const auto number = network_->exchange().enrol(
          name, [&](const auto& server) { return hooks_->keep_enrolment(server, name); });
      if (!number) {
        report_once("not-enrolled", name, number.error().message);
        continue;
      }
      enrolment_.workers.push_back({.name = name, .certificate = {}});
      count_quorum();
      report_enrolled(name);
    }
    if (named_.empty()) return;
    for (const store::EnrolledWorker& worker : enrolment_.workers) {
      if (std::ranges::find(named_, worker.name) != named_.end()) continue;
      report_once(
          "still-enrolled", worker.name,
          "the workers file does not name it any more; to keep it out revoke its certificate");
    }
  }

  void report_enrolled(const std::string& name) const {
    options_.events({Severity::kInfo,
                     "enrolled",
                     {{"worker", name},
                      {"workers", quorum_.workers},
                      {"places", enrolment_.places},
                      {"quorum", quorum_.quorum},
                      {"may_be_away", quorum_.workers - quorum_.quorum}}});
  }

  // Once for each state of the workers file.
  void report_once(const std::string& event, const std::string& worker, const std::string& why) {
    if (!enrolment_told_.insert(event + ' ' + worker).second) return;
    options_.events({Severity::kWarning, event, {{"worker", worker}, {"why", why}}});
  }

  // Workers whose training is over are told so while the last model is evaluated and for a while
  // after it; those of a server that is stopped are let go first.
  Result<ServeReport> finish() {
    network_->exchange().inspect(
        [&](const server::ParameterServer& server) { hooks_->close(server); });
    network_->set_training_health(false);
    const bool is_finished = hooks_->why_closed() == transport::Close::kFinished;
    if (!is_finished) stop_network();
    use_snapshot();
    if (is_finished) {
      linger();
      stop_network();
    }
    BALLAST_TRY_STATUS(hooks_->status());
    BALLAST_TRY_STATUS(model_written_);
    ServerStatus status = look();
    options_.events({Severity::kInfo, "stopped", {{"accepted", status.accepted}}});
    const bool is_complete = status.accepted >= status.updates;
    return ServeReport{
        .status = std::move(status), .is_complete = is_complete, .was_complete = was_complete_};
  }

  void linger() const {
    const auto end = std::chrono::steady_clock::now() + options_.linger;
    while (!is_stopped() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kWait);
    }
  }

  void stop_network() {
    http_.reset();
    network_->stop(hooks_->why_closed());
  }

  const Plan& plan_;
  const ServeOptions& options_;
  transport::NetworkServerOptions network_options_;
  Enrolment enrolment_;
  QuorumFacts quorum_;
  std::unique_ptr<worker::Evaluator> evaluator_;
  std::mutex mutex_;
  std::optional<LastEvaluation> evaluation_;  // behind mutex_
  Status model_written_;                      // the last one
  std::uint64_t memory_budget_ = 0;           // in bytes
  LogLimiter lines_{1};                       // for connections that were ended
  std::uint64_t ended_told_ = 0;
  bool was_complete_ = false;
  std::optional<WorkersFileWatch> workers_file_;
  std::vector<std::string> named_;  // in the workers file
  std::chrono::steady_clock::time_point enrolled_at_{};
  std::set<std::string> enrolment_told_;  // what was said of the workers file as it is

  // Each is used by the threads of the next ones, and so outlives them.
  std::unique_ptr<ServerHooks> hooks_;
  std::optional<transport::NetworkServer> network_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

Result<ServeReport> serve(const Plan& plan, const ServeOptions& options) {
  BALLAST_TRY(const auto run, ServerRun::start(plan, options));
  return run->run();
}

}  // namespace ballast::service
