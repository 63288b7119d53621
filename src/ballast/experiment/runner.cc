#include "ballast/experiment/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "ballast/experiment/model_file.h"
#include "ballast/experiment/run.h"
#include "ballast/files/text_file.h"
#include "ballast/records/metrics_csv.h"
#include "ballast/records/plot.h"
#include "ballast/records/run_file.h"
#include "ballast/records/summary.h"
#include "ballast/records/tensorboard.h"

namespace ballast::experiment {
namespace {

namespace fs = std::filesystem;
using Plan = std::vector<PlannedRun>;

// One specification being run.
class Runner {
 public:
  Runner(const Spec& spec, const RunnerOptions& options, Plan plan)
      : spec_(spec),
        options_(options),
        plan_(std::move(plan)),
        materials_(options.materials != nullptr ? *options.materials : own_materials_),
        records_(plan_.size()) {}

  Result<RunnerResult> run() {
    BALLAST_TRY_STATUS(load_materials());
    BALLAST_TRY_STATUS(open_folder());
    tell_start();
    run_open();
    if (error_) return tl::unexpected(*error_);
    return finish();
  }

 private:
  fs::path runs_folder() const { return options_.folder / "runs"; }

  fs::path model_path(std::size_t i) const {
    return runs_folder() /
           (records::file_stem({.run = plan_[i].name, .seed = plan_[i].seed}) + ".safetensors");
  }

  // Everything that can be missing is looked for first.
  Status load_materials() {
    for (const PlannedRun& planned : plan_) BALLAST_TRY_STATUS(materials_.get(planned.run));
    return {};
  }

  Status open_folder() {
    BALLAST_TRY_STATUS(files::make_folder(runs_folder()));
    BALLAST_TRY_STATUS(files::write_text(options_.folder / "spec.toml", to_toml(spec_)));
    BALLAST_TRY_STATUS(find_finished());
    BALLAST_TRY(auto writer,
                records::MetricsWriter::create(options_.folder / "metrics.csv", done()));
    metrics_.emplace(std::move(writer));
    return {};
  }

  // Takes over the runs that the folder holds, under the names they have now.
  Status find_finished() {
    std::map<std::string, std::size_t> places;
    std::set<std::string> fingerprints;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      places[fingerprint(plan_[i].run, plan_[i].seed)] = i;
    }
    for (const auto& place : places) fingerprints.insert(place.first);
    BALLAST_TRY(auto found, records::load_finished_runs(runs_folder(), fingerprints));
    for (records::RunRecord& record : found) {
      const std::size_t i = places.at(record.fingerprint);
      if (!fs::exists(model_path(i))) continue;
      record.run = plan_[i].name;
      record.panel = plan_[i].panel;
      record.curve = plan_[i].curve;
      records_[i] = std::move(record);
    }
    return {};
  }

  std::vector<records::RunRecord> done() const {
    std::vector<records::RunRecord> records;
    for (const auto& record : records_) {
      if (record) records.push_back(*record);
    }
    return records;
  }

  void tell_start() const {
    std::uint64_t updates = 0;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!records_[i]) updates += plan_[i].run.updates;
    }
    options_.on_start(updates, done().size());
  }

  // As many runs at a time as there are threads; what is left over goes to the runs.
  void run_open() {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!records_[i]) open_.push_back(i);
    }
    const std::size_t lanes = std::clamp<std::size_t>(open_.size(), 1, options_.threads);
    const std::size_t threads = std::max<std::size_t>(1, options_.threads / lanes);
    std::vector<std::jthread> others;
    for (std::size_t lane = 1; lane < lanes; ++lane) {
      others.emplace_back([this, threads] { run_lane(threads); });
    }
    run_lane(threads);
  }

  void run_lane(std::size_t threads) {
    while (!is_stopped()) {
      const std::size_t next = next_++;
      if (next >= open_.size()) return;
      if (Status status = run_planned(open_[next], threads); !status) fail(status.error());
    }
  }

  bool is_stopped() const { return stop_ || (options_.stop != nullptr && *options_.stop); }

  // Also where a wish to stop reaches the runs under way.
  void tell_progress(std::uint64_t updates) {
    if (is_stopped()) stop_ = true;
    options_.on_progress(updates);
  }

  void fail(Error error) {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (!error_) error_ = std::move(error);
  }

  Status run_planned(std::size_t i, std::size_t threads) {
    const PlannedRun& planned = plan_[i];
    const double started = options_.wall_time();
    BALLAST_TRY(const Material material, materials_.get(planned.run));
    BALLAST_TRY(FinishedRun finished,
                run_one(planned, material,
                        {.threads = threads,
                         .stop = &stop_,
                         .on_progress = [&](std::uint64_t updates) { tell_progress(updates); },
                         .on_evaluation =
                             [&](const records::EvaluationRecord& evaluation) {
                               return metrics_->append({planned.name, planned.seed, evaluation});
                             }}));
    if (finished.record.status != records::RunStatus::kInterrupted) {
      BALLAST_TRY_STATUS(write_model(model_path(i), *material.model, input_of(*material.data.train),
                                     {finished.model, finished.statistics},
                                     {.run = planned.name, .seed = planned.seed}));
      BALLAST_TRY_STATUS(records::write_run_file(runs_folder(), finished.record));
      BALLAST_TRY_STATUS(
          records::write_event_file(options_.folder / "tensorboard", finished.record, started));
    }
    const std::lock_guard lock(mutex_);
    records_[i] = std::move(finished.record);
    return {};
  }

  Result<RunnerResult> finish() {
    RunnerResult result{.records = done()};
    result.is_complete = result.records.size() == plan_.size() &&
                         std::ranges::none_of(result.records, [](const records::RunRecord& record) {
                           return record.status == records::RunStatus::kInterrupted;
                         });
    BALLAST_TRY_STATUS(records::write_metrics(options_.folder / "metrics.csv", result.records));
    BALLAST_TRY_STATUS(records::write_summary(options_.folder / "summary.json", result.records));
    if (records_[0] && records_[0]->status != records::RunStatus::kInterrupted) {
      BALLAST_TRY_STATUS(copy_model(model_path(0), options_.folder / "model.safetensors"));
    }
    if (std::ranges::all_of(result.records,
                            [](const records::RunRecord& r) { return r.evaluations.empty(); }))
      return result;
    const std::string& title = options_.title.empty() ? spec_.name : options_.title;
    if (Status drawn = records::plot_curves(options_.folder, result.records, {.title = title});
        !drawn) {
      result.warning = fmt::format("no curves were drawn: {}", drawn.error().message);
    }
    return result;
  }

  const Spec& spec_;
  const RunnerOptions& options_;
  const Plan plan_;
  Materials own_materials_;
  Materials& materials_;
  std::vector<std::optional<records::RunRecord>> records_;
  std::optional<records::MetricsWriter> metrics_;
  std::vector<std::size_t> open_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<RunnerResult> run_all(const Spec& spec, const RunnerOptions& options) {
  BALLAST_TRY(Plan plan, expand(spec));
  return Runner(spec, options, std::move(plan)).run();
}

}  // namespace ballast::experiment
