#include "ballast/experiment/run.h"

#include <fmt/core.h>

#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "ballast/assembly/parts.h"
#include "ballast/experiment/explain.h"
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

// Watches the arrivals and evaluates every so many.
class Recorder final : public sim::Observer {
 public:
  // Without an explainer nothing is explained.
  Recorder(const assembly::RunSpec& run, const learn::Model& model, worker::Evaluator& evaluator,
           Explainer* explainer, const RunOptions& options, records::RunRecord& record)
      : run_(run),
        model_(model),
        evaluator_(evaluator),
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
    BALLAST_TRY(const auto result, evaluator_.evaluate(*server.model().values, statistics));
    evaluation.test_accuracy = result.accuracy;
    evaluation.test_loss = result.loss;
    record_.evaluations.push_back(evaluation);
    evaluating_ += seconds_since(start);
    return options_.on_evaluation(evaluation);
  }

  std::uint64_t last_t() const noexcept { return last_t_; }

 private:
  // Of the moment, with the staleness since the last evaluation.
  Result<std::optional<records::Explanation>> explanation(const server::ParameterServer& server) {
    if (explainer_ == nullptr) return std::nullopt;
    BALLAST_TRY(records::Explanation why, explainer_->explain(server));
    const std::uint64_t byzantine = updates_ - honest_;
    why.staleness_honest =
        mean(static_cast<double>(staleness_sum_ - byzantine_staleness_), honest_);
    why.staleness_byzantine = mean(static_cast<double>(byzantine_staleness_), byzantine);
    return why;
  }

  void note(const sim::ArrivalRecord& arrival) {
    last_t_ = arrival.t;
    if (arrival.outcome.verdict != server::Verdict::kAccepted) return;
    ++updates_;
    staleness_sum_ += arrival.outcome.staleness;
    staleness_max_ = std::max(staleness_max_, arrival.outcome.staleness);
    if (arrival.is_byzantine) {
      ++byzantine_;
      byzantine_staleness_ += arrival.outcome.staleness;
    } else {
      ++honest_;
      loss_sum_ += arrival.loss;
    }
  }

  void tell_progress(std::uint64_t t) {
    options_.on_progress(t - told_);
    told_ = t;
  }

  static double mean(double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
  }

  records::EvaluationRecord interval_so_far(std::uint64_t t) {
    const records::EvaluationRecord evaluation{
        .t = t,
        .train_loss = mean(loss_sum_, honest_),
        .byzantine_updates = byzantine_,
        .staleness_mean = mean(static_cast<double>(staleness_sum_), updates_),
        .staleness_max = staleness_max_,
        .seconds = seconds_since(start_) - evaluating_};
    honest_ = updates_ = staleness_sum_ = byzantine_staleness_ = staleness_max_ = 0;
    loss_sum_ = 0.0;
    return evaluation;
  }

  const assembly::RunSpec& run_;
  const learn::Model& model_;
  worker::Evaluator& evaluator_;
  Explainer* explainer_;
  const RunOptions& options_;
  records::RunRecord& record_;
  SteadyClock::time_point start_ = SteadyClock::now();
  double evaluating_ = 0.0;
  std::uint64_t told_ = 0, last_t_ = 0;
  std::uint64_t byzantine_ = 0;  // since the start

  // Since the last evaluation.
  std::uint64_t updates_ = 0, honest_ = 0;
  std::uint64_t staleness_sum_ = 0, byzantine_staleness_ = 0, staleness_max_ = 0;
  double loss_sum_ = 0.0;
};

records::RunRecord record_of(const PlannedRun& planned) {
  return {.run = planned.name,
          .panel = planned.panel,
          .curve = planned.curve,
          .seed = planned.seed,
          .fingerprint = fingerprint(planned.run, planned.seed),
          .settings = planned.settings};
}

}  // namespace

Result<FinishedRun> run_one(const PlannedRun& planned, const assembly::Material& material,
                            const RunOptions& options) {
  const SteadyClock::time_point start = SteadyClock::now();
  const assembly::RunSpec& run = planned.run;
  BALLAST_TRY(auto server, assembly::make_server(run, planned.seed, *material.model));
  BALLAST_TRY(const auto training, assembly::training_data(run, planned.seed, material.data));
  BALLAST_TRY(const auto source, material.model->make_source(training));
  BALLAST_TRY(const auto evaluator, material.model->make_evaluator(material.data.test));
  BALLAST_TRY(const auto attack, assembly::make_run_attack(run));
  BALLAST_TRY(const auto arrivals, assembly::make_arrivals(run, planned.seed));

  std::optional<Explainer> explainer;
  if (options.explains) {
    BALLAST_TRY(explainer, Explainer::make(run.rule, assembly::population(run)));
  }

  FinishedRun finished{.record = record_of(planned)};
  Recorder recorder(run, *material.model, *evaluator, explainer ? &*explainer : nullptr, options,
                    finished.record);
  const std::vector<worker::GradientSource*> sources(run.workers, source.get());
  sim::Observer* const observers[] = {&recorder};
  const auto result = sim::run(
      {.workers = assembly::population(run),
       .estimator = assembly::estimator_options(run),
       .seed = planned.seed,
       .threads = options.threads,
       .stop = options.stop},
      {.server = server, .sources = sources, .attack = attack.get(), .observers = observers},
      arrivals);
  if (result) {
    finished.record.gradient_seconds =
        std::reduce(result->gradient_seconds.begin(), result->gradient_seconds.end());
    if (result->ending == sim::Ending::kByRequest) {
      finished.record.status = records::RunStatus::kInterrupted;
    }
  } else if (result.error().code == ErrorCode::kNotFinite) {
    finished.record.status = records::RunStatus::kDiverged;
    BALLAST_TRY_STATUS(recorder.evaluate(recorder.last_t(), server));
  } else {
    return tl::unexpected(result.error());
  }
  finished.record.total_seconds = seconds_since(start);
  finished.model = *server.model().values;
  finished.statistics = statistics_of(server, *material.model);
  return finished;
}

}  // namespace ballast::experiment
