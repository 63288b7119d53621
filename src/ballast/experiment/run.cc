#include "ballast/experiment/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "ballast/assembly/parts.h"
#include "ballast/experiment/explain.h"
#include "ballast/experiment/run_checkpoint.h"
#include "ballast/methods/registry.h"
#include "ballast/sim/cluster.h"

namespace ballast::experiment {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// What an evaluation needs beside the parameters. Before the first update counts nobody's
// statistics do, and those of the first model are the ones to use.
std::vector<float> statistics_of(const server::ParameterServer& server, const learn::Model& model) {
  auto statistics = server.statistics();
  return statistics ? *std::move(statistics) : model.initial_statistics();
}

// Progress is told in steps, so that nobody is called thousands of times a second.
constexpr std::uint64_t kProgressStep = 10;

struct Evaluators {
  std::unique_ptr<worker::Evaluator> test;
  std::unique_ptr<worker::Evaluator> back_door;  // none where the attack opens none
};

Result<Evaluators> make_evaluators(const assembly::Material& material,
                                   const attacks::Attack* attack) {
  Evaluators evaluators;
  BALLAST_TRY(evaluators.test, material.model->make_evaluator(material.data.test));
  const auto trigger = attack != nullptr ? attack->trigger() : std::nullopt;
  if (!trigger) return evaluators;
  BALLAST_TRY(auto opened, material.data.test->with_square(trigger->size, trigger->target));
  BALLAST_TRY(evaluators.back_door, material.model->make_evaluator(
                                        std::make_shared<const data::Dataset>(std::move(opened))));
  return evaluators;
}

// Watches the arrivals and evaluates every so many.
class Recorder final : public sim::Observer {
 public:
  // Without an explainer nothing is explained.
  Recorder(const assembly::RunSpec& run, const learn::Model& model, const Evaluators& evaluators,
           Explainer* explainer, const RunOptions& options, records::RunRecord& record)
      : run_(run),
        model_(model),
        evaluators_(evaluators),
        explainer_(explainer),
        options_(options),
        record_(record) {}

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& arrival,
                               const server::ParameterServer& server) override {
    note(arrival);
    const bool is_last = arrival.t == run_.updates;
    if (arrival.t % kProgressStep == 0 || is_last) tell_progress(arrival.t);
    if (arrival.outcome.has_diverged) {
      record_.status = records::RunStatus::kDiverged;
      BALLAST_TRY_STATUS(evaluate(arrival.t, server));
      return sim::Next::kStop;
    }
    if (arrival.t % run_.evaluate_every == 0 || is_last) {
      BALLAST_TRY_STATUS(evaluate(arrival.t, server));
    }
    return sim::Next::kContinue;
  }

  // What is evaluated last when the gradients themselves leave the finite numbers.
  Status evaluate(std::uint64_t t, const server::ParameterServer& server) {
    const SteadyClock::time_point start = SteadyClock::now();
    BALLAST_TRY(auto why, explanation(server));
    records::EvaluationRecord evaluation = interval_so_far(t);
    evaluation.why = why;
    const std::vector<float> statistics = statistics_of(server, model_);
    const std::vector<float>& values = *server.model().values;
    BALLAST_TRY(const auto result, evaluators_.test->evaluate(values, statistics));
    if (evaluators_.back_door != nullptr) {
      BALLAST_TRY(const auto opened, evaluators_.back_door->evaluate(values, statistics));
      evaluation.back_door = opened.accuracy;
    }
    evaluation.test_accuracy = result.accuracy;
    evaluation.test_loss = result.loss;
    record_.evaluations.push_back(evaluation);
    evaluating_ += seconds_since(start);
    return options_.on_evaluation(evaluation);
  }

  std::uint64_t last_t() const noexcept { return last_t_; }

  // What a checkpoint needs beside the record, and what a run goes on from.
  Tally tally() const {
    Tally tally = tally_;
    tally.training_seconds = training_seconds();
    return tally;
  }
  Status go_on_from(const Tally& tally, std::uint64_t t) {
    tally_ = tally;
    last_t_ = told_ = t;
    (options_.on_resume ? options_.on_resume : options_.on_progress)(t);
    for (const auto& evaluation : record_.evaluations) {
      BALLAST_TRY_STATUS(options_.on_evaluation(evaluation));
    }
    return {};
  }

 private:
  // Of the moment, with the staleness since the last evaluation.
  Result<std::optional<records::Explanation>> explanation(const server::ParameterServer& server) {
    if (explainer_ == nullptr) return std::nullopt;
    BALLAST_TRY(records::Explanation why, explainer_->explain(server));
    const std::uint64_t byzantine = tally_.updates - tally_.honest;
    why.staleness_honest =
        mean(static_cast<double>(tally_.staleness_sum - tally_.byzantine_staleness), tally_.honest);
    why.staleness_byzantine = mean(static_cast<double>(tally_.byzantine_staleness), byzantine);
    return why;
  }

  void note(const sim::ArrivalRecord& arrival) {
    last_t_ = arrival.t;
    if (arrival.outcome.verdict != server::Verdict::kAccepted) return;
    ++tally_.updates;
    tally_.staleness_sum += arrival.outcome.staleness;
    tally_.staleness_max = std::max(tally_.staleness_max, arrival.outcome.staleness);
    if (arrival.is_byzantine) {
      ++tally_.byzantine;
      tally_.byzantine_staleness += arrival.outcome.staleness;
    } else {
      ++tally_.honest;
      tally_.loss_sum += arrival.loss;
    }
  }

  void tell_progress(std::uint64_t t) {
    options_.on_progress(t - told_);
    told_ = t;
  }

  double training_seconds() const {
    return tally_.training_seconds + seconds_since(start_) - evaluating_;
  }

  static double mean(double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
  }

  records::EvaluationRecord interval_so_far(std::uint64_t t) {
    const records::EvaluationRecord evaluation{
        .t = t,
        .train_loss = mean(tally_.loss_sum, tally_.honest),
        .byzantine_updates = tally_.byzantine,
        .staleness_mean = mean(static_cast<double>(tally_.staleness_sum), tally_.updates),
        .staleness_max = tally_.staleness_max,
        .seconds = training_seconds()};
    tally_ = {.byzantine = tally_.byzantine,
              .training_seconds = tally_.training_seconds,
              .total_seconds = tally_.total_seconds};
    return evaluation;
  }

  const assembly::RunSpec& run_;
  const learn::Model& model_;
  const Evaluators& evaluators_;
  Explainer* explainer_;
  const RunOptions& options_;
  records::RunRecord& record_;
  SteadyClock::time_point start_ = SteadyClock::now();
  double evaluating_ = 0.0;
  std::uint64_t told_ = 0, last_t_ = 0;
  Tally tally_;  // with the seconds of the lives before this one
};

// Saves the run every so often, but spends at most a twentieth of its time on that.
class Saver final : public sim::CheckpointSink {
 public:
  Saver(const RunOptions& options, SteadyClock::time_point start, RunCheckpoint& checkpoint,
        const Recorder& recorder, const records::RunRecord& record)
      : pause_(options.checkpoint_seconds),
        start_(start),
        checkpoint_(checkpoint),
        recorder_(recorder),
        record_(record) {}

  bool is_due() override {
    return warning_.empty() && seconds_since(last_) >= std::max(pause_, kShare * cost_);
  }

  // A run that cannot be saved goes on all the same: a full disk is no reason to lose it.
  Status save(const sim::ClusterStateView& state) override {
    const SteadyClock::time_point begin = SteadyClock::now();
    Tally tally = recorder_.tally();
    tally.total_seconds += seconds_since(start_);
    records::RunRecord record = record_;
    record.status = records::RunStatus::kInterrupted;
    if (const Status saved = checkpoint_.save(state, tally, record); !saved) {
      warning_ =
          fmt::format("{} is not saved while it runs: {}", record.run, saved.error().message);
    }
    last_ = SteadyClock::now();
    cost_ = std::chrono::duration<double>(last_ - begin).count();
    return {};
  }

  // What could not be saved, and why; empty if nothing.
  const std::string& warning() const noexcept { return warning_; }

 private:
  static constexpr double kShare = 20.0;

  double pause_;
  double cost_ = 0.0;
  SteadyClock::time_point start_;
  SteadyClock::time_point last_ = start_;
  std::string warning_;
  RunCheckpoint& checkpoint_;
  const Recorder& recorder_;
  const records::RunRecord& record_;
};

records::RunRecord record_of(const PlannedRun& planned) {
  return {.run = planned.name,
          .panel = planned.panel,
          .curve = planned.curve,
          .seed = planned.seed,
          .fingerprint = fingerprint(planned.run, planned.seed),
          .settings = planned.settings};
}

RunIdentity identity_of(const records::RunRecord& record, const server::ParameterServer& server,
                        const RunOptions& options) {
  return {.fingerprint = record.fingerprint,
          .worker_count = server.worker_count(),
          .dim = server.dim(),
          .statistic_count = server.options().statistic_count,
          .is_explained = options.explains};
}

// None where nothing is to be explained.
Result<std::optional<Explainer>> make_explainer(const assembly::RunSpec& run,
                                                const RunOptions& options) {
  if (!options.explains) return std::nullopt;
  BALLAST_TRY(const methods::MethodPlan plan, methods::method_registry().parse(run.method));
  if (!plan.uses_rule) {
    return unsupported(
        fmt::format("only the rows of a table can be explained, and the method is {}", run.method));
  }
  return Explainer::make(run.rule, assembly::population(run));
}

}  // namespace

Result<FinishedRun> run_one(const PlannedRun& planned, const assembly::Material& material,
                            const RunOptions& options) {
  const SteadyClock::time_point start = SteadyClock::now();
  const assembly::RunSpec& run = planned.run;
  BALLAST_TRY(auto server, assembly::make_server(run, planned.seed, material));
  BALLAST_TRY(const auto training, assembly::training_data(run, planned.seed, material.data));
  BALLAST_TRY(const auto source, material.model->make_source(training));
  BALLAST_TRY(const auto attack, assembly::make_run_attack(run));
  BALLAST_TRY(const auto evaluators, make_evaluators(material, attack.get()));
  BALLAST_TRY(const auto preview_method,
              assembly::make_preview_method(run, planned.seed, material, attack.get()));
  BALLAST_TRY(const auto arrivals, assembly::make_arrivals(run, planned.seed));

  BALLAST_TRY(auto explainer, make_explainer(run, options));

  FinishedRun finished{.record = record_of(planned)};
  Recorder recorder(run, *material.model, evaluators, explainer ? &*explainer : nullptr, options,
                    finished.record);
  RunCheckpoint checkpoint(options.checkpoint_folder,
                           identity_of(finished.record, server, options));
  Saver saver(options, start, checkpoint, recorder, finished.record);
  const bool is_saved = !options.checkpoint_folder.empty();
  std::optional<SavedRun> saved = is_saved ? checkpoint.load() : std::nullopt;
  std::optional<sim::ClusterState> from;
  double seconds_before = 0.0;
  if (saved) {
    finished.record.evaluations = std::move(saved->record.evaluations);
    seconds_before = saved->tally.total_seconds;
    from = std::move(saved->cluster);
    BALLAST_TRY_STATUS(recorder.go_on_from(saved->tally, from->arrivals));
  }
  const std::vector<worker::GradientSource*> sources(run.workers, source.get());
  sim::Observer* const observers[] = {&recorder};
  const auto result = sim::run({.workers = assembly::population(run),
                                .estimator = assembly::estimator_options(run),
                                .seed = planned.seed,
                                .threads = options.threads,
                                .stop = options.stop},
                               {.server = server,
                                .sources = sources,
                                .attack = attack.get(),
                                .observers = observers,
                                .checkpoints = is_saved ? &saver : nullptr,
                                .preview_method = preview_method.get()},
                               arrivals, std::move(from));
  if (result) {
    finished.record.gradient_seconds =
        std::reduce(result->gradient_seconds.begin(), result->gradient_seconds.end());
    if (result->ending == sim::Ending::kByRequest) {
      finished.record.status = records::RunStatus::kInterrupted;
    }
  } else if (result.error().code == ErrorCode::kNotFinite) {
    finished.record.status = records::RunStatus::kDiverged;
    BALLAST_TRY_STATUS(recorder.evaluate(recorder.last_t(), server));
  } else if (seconds_before > 0.0 && result.error().code == ErrorCode::kInvalidArgument) {
    return invalid_argument(
        fmt::format("cannot go on from {}: {}; remove it to begin this run anew",
                    options.checkpoint_folder.string(), result.error().message));
  } else {
    return tl::unexpected(result.error());
  }
  finished.warning = saver.warning();
  finished.record.total_seconds = seconds_before + seconds_since(start);
  finished.model = *server.model().values;
  finished.statistics = statistics_of(server, *material.model);
  return finished;
}

}  // namespace ballast::experiment
