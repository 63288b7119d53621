#include "ballast/service/work.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "ballast/assembly/parts.h"
#include "ballast/attacks/registry.h"
#include "ballast/service/credentials.h"
#include "ballast/service/enrolment.h"
#include "ballast/service/round_trips.h"
#include "ballast/worker/worker.h"

namespace ballast::service {
namespace {

using server::Verdict;

constexpr std::chrono::milliseconds kStopWait{50};  // until a wish to stop is noticed
constexpr std::chrono::seconds kWatchEvery{1};      // between looks at the certificate files

transport::ClientOptions client_options(const Plan& plan, const WorkOptions& options) {
  const learn::Model& model = *plan.material.model;
  return {.server = options.server,
          .tls = options.credentials,
          .name = options.name,
          .schema_hash = plan.schema_hash,
          .dim = model.dim(),
          .statistic_count = model.initial_statistics().size(),
          .model_encoding = options.encoding,
          .update_encoding = options.encoding,
          .patience = options.patience,
          .seed = plan.planned.seed + options.number,
          .stop = options.stop};
}

// The run as a worker of that number sees it. One that was enrolled later has a number after the
// others, and its share of the data is all of it, or that of a worker whose number it takes.
Result<assembly::RunSpec> run_with(assembly::RunSpec run, const WorkOptions& options) {
  if (options.number < run.workers) return run;
  if (options.number >= kPlacesMax) {
    return invalid_argument(fmt::format("{} has the number {}; numbers end before {}", options.name,
                                        options.number, kPlacesMax));
  }
  if (run.partition != assembly::PartitionKind::kShared) {
    return invalid_argument(
        fmt::format("{} has the number {}, but the data is split among the workers 0 to {}; say "
                    "with --number whose part it takes over",
                    options.name, options.number, run.workers - 1));
  }
  run.workers = options.number + 1;
  return run;
}

// What the verdict on an update means for the next one.
enum class Consequence { kGoOn, kStartAfresh, kGiveUp };

Consequence consequence(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAccepted:
    case Verdict::kReplayed:
    case Verdict::kUnasked:
    case Verdict::kStale:
    case Verdict::kFiltered:
    case Verdict::kMalformed:
      return Consequence::kGoOn;
    case Verdict::kNotFinite:
      return Consequence::kStartAfresh;
    case Verdict::kUnknownWorker:
    case Verdict::kWrongShape:
    case Verdict::kForged:
      return Consequence::kGiveUp;
  }
  std::abort();
}

class WorkerLoop {
 public:
  static Result<std::unique_ptr<WorkerLoop>> start(const Plan& plan, const WorkOptions& options) {
    BALLAST_TRY(const assembly::RunSpec run, run_with(plan.run(), options));
    if (options.credentials) {
      BALLAST_TRY_STATUS(check_credentials(*options.credentials, options.name, options.clock()));
    }
    std::unique_ptr<WorkerLoop> loop(new WorkerLoop(plan, options));
    BALLAST_TRY(loop->attack_, make_network_attack(plan.run(), options.attack));
    BALLAST_TRY(const auto training,
                assembly::training_data(run, plan.planned.seed, plan.material.data));
    BALLAST_TRY(loop->source_, plan.material.model->make_source(training));
    BALLAST_TRY_STATUS(loop->start_afresh());
    BALLAST_TRY(auto client, transport::Client::make(client_options(plan, options)));
    loop->client_.emplace(std::move(client));
    return loop;
  }

  Result<WorkReport> run() {
    Status done = exchange_all();
    client_->leave();
    report_.reconnects = client_->reconnect_count();
    if (!done && done.error().code != ErrorCode::kInterrupted) {
      return tl::unexpected(std::move(done).error());
    }
    options_.events({Severity::kInfo,
                     "left",
                     {{"sent", report_.sent},
                      {"accepted", report_.accepted},
                      {"reconnects", report_.reconnects}}});
    return report_;
  }

 private:
  WorkerLoop(const Plan& plan, const WorkOptions& options)
      : plan_(plan),
        options_(options),
        trips_(options.report_every, std::chrono::steady_clock::now()) {
    if (options.credentials) watch_.emplace(*options.credentials, options.name, options.clock);
  }

  // The state of earlier updates is gone; the next one is like a first.
  Status start_afresh() {
    BALLAST_TRY(auto worker,
                worker::Worker::make({.seed = plan_.planned.seed,
                                      .id = options_.number,
                                      .estimator = assembly::estimator_options(plan_.run())},
                                     *source_, attack_.get()));
    worker_.emplace(std::move(worker));
    return {};
  }

  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  bool is_enough() const {
    return is_stopped() || (options_.updates_max && report_.sent >= *options_.updates_max);
  }

  // After the pause of a slow machine.
  bool may_go_on() const {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + options_.pause;
    while (!is_enough() && Clock::now() < end) {
      std::this_thread::sleep_for(std::min<Clock::duration>(kStopWait, end - Clock::now()));
    }
    return !is_enough();
  }

  Status exchange_all() {
    BALLAST_TRY(transport::ClientModel model, client_->join());
    if (!model.is_over) report_joined(model);
    while (!model.is_over && may_go_on()) {
      BALLAST_TRY(const worker::WorkerUpdate update,
                  worker_->on_model({.version = model.version, .values = model.values}));
      const std::uint64_t incarnation = model.incarnation;
      const auto begin = std::chrono::steady_clock::now();
      auto pushed = client_->push(update.values, update.statistics);
      report_round_trip(begin, std::chrono::steady_clock::now());
      ++report_.sent;
      if (pushed) {
        BALLAST_TRY_STATUS(handle_verdict(pushed->verdict));
        model = pushed->next;
      } else {
        ++report_.lost;
      }
      if (options_.rejoins && pushed && !model.is_over) {
        BALLAST_TRY_STATUS(start_afresh());
        BALLAST_TRY(model, client_->join());
      } else if (has_new_certificate(!pushed) && !model.is_over) {
        BALLAST_TRY(model, client_->rejoin());
      } else if (!pushed) {
        return tl::unexpected(std::move(pushed).error());
      }
      if (model.incarnation != incarnation) report_joined(model);
    }
    report_.is_over = model.is_over;
    if (model.is_over) options_.events({Severity::kInfo, "training-over"});
    return {};
  }

  // Whether to connect again because the files have changed; looked at once a second, and after a
  // failure, which may be the end of the old certificate.
  bool has_new_certificate(bool has_failed) {
    const auto now = std::chrono::steady_clock::now();
    if (!watch_ || is_stopped() || (!has_failed && now - watched_at_ < kWatchEvery)) return false;
    watched_at_ = now;
    std::string problem;
    const bool has_new_files = watch_->has_new_files(problem);
    if (has_new_files) options_.events({Severity::kInfo, "certificate-renewed"});
    if (problem != problem_told_ && !problem.empty()) {
      options_.events({Severity::kWarning, "certificate-unusable", {{"why", problem}}});
    }
    problem_told_ = problem;
    return has_new_files;
  }

  void report_round_trip(RoundTrips::Clock::time_point begin, RoundTrips::Clock::time_point end) {
    const auto figures = trips_.note(end - begin, end);
    if (!figures) return;
    options_.events({Severity::kInfo,
                     "round-trips",
                     {{"count", figures->count},
                      {"p50_ms", figures->p50_ms},
                      {"p99_ms", figures->p99_ms},
                      {"max_ms", figures->max_ms}}});
  }

  void report_joined(const transport::ClientModel& model) const {
    options_.events(
        {Severity::kInfo,
         "joined",
         {{"run", model.run}, {"incarnation", model.incarnation}, {"version", model.version}}});
  }

  Status handle_verdict(const std::optional<Verdict>& verdict) {
    if (!verdict) {
      ++report_.lost;
      return {};
    }
    if (*verdict == Verdict::kAccepted) {
      ++report_.accepted;
      return {};
    }
    options_.events({Severity::kWarning, "refused", {{"verdict", server::name(*verdict)}}});
    switch (consequence(*verdict)) {
      case Consequence::kGoOn:
        return {};
      case Consequence::kStartAfresh:
        return start_afresh();
      case Consequence::kGiveUp:
        return invalid_argument(
            fmt::format("the server refused an update as {}", server::name(*verdict)));
    }
    std::abort();
  }

  const Plan& plan_;
  const WorkOptions& options_;
  attacks::AttackPointer attack_;
  std::unique_ptr<worker::GradientSource> source_;
  std::optional<worker::Worker> worker_;  // borrows the two above
  std::optional<transport::Client> client_;
  std::optional<CertificateWatch> watch_;  // of our own, if we have one
  std::chrono::steady_clock::time_point watched_at_{};
  std::string problem_told_;
  RoundTrips trips_;
  WorkReport report_;
};

// What an attack has in the simulator only.
std::string_view what_it_needs(const attacks::Attack& attack) {
  if (attack.needs_preview()) return "a copy of the server's method";
  if (attack.chooses_time()) return "to choose its time by what others send";
  if (attack.has_memory()) return "a memory of earlier updates";
  return "the honest workers' updates";
}

}  // namespace

Result<attacks::AttackPointer> make_network_attack(const assembly::RunSpec& run,
                                                   const std::string& attack) {
  if (attack.empty()) return nullptr;
  assembly::RunSpec liar = run;
  liar.attack = attack;
  liar.byzantine = 1;
  BALLAST_TRY(attacks::AttackPointer made, assembly::make_run_attack(liar));
  if (made->colludes()) {
    return unsupported(fmt::format(
        "the attack '{}' needs {}, which a worker on a network does not have; try it with 'ballast "
        "train'",
        attack, what_it_needs(*made)));
  }
  return made;
}

Result<std::uint32_t> number_in(const std::string& name) {
  const std::size_t start = name.find_last_not_of("0123456789") + 1;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + start, name.data() + name.size(), number);
  if (error != std::errc() || end == name.data() + start) {
    return invalid_argument(
        fmt::format("'{}' does not end in a number; say with --number which worker it is", name));
  }
  return number;
}

Result<WorkReport> work(const Plan& plan, const WorkOptions& options) {
  BALLAST_TRY(const auto loop, WorkerLoop::start(plan, options));
  return loop->run();
}

}  // namespace ballast::service
