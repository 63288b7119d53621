#include "ballast/experiment/runner.h"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "ballast/assembly/model_file.h"
#include "ballast/assembly/parts.h"
#include "ballast/experiment/results_folder.h"
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

// The C library keeps what a run has freed, in pieces that the next run's vectors do not fit: a
// grid of thousands of runs would take gigabytes. Sanitizers bring an allocator of their own; that
// of the C library is then not set up, and two threads that ask it at once meet it half made.
void give_freed_memory_back() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  malloc_trim(0);
#endif
}

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

  // Empty: it is not saved.
  fs::path checkpoint_folder(std::size_t i) const {
    if (options_.checkpoint_seconds <= 0.0) return {};
    return model_path(i).replace_extension(".checkpoint");
  }

  bool keeps_model(std::size_t i) const { return options_.keeps_models || i == 0; }

  // Everything that can be missing is looked for first.
  Status load_materials() {
    for (const PlannedRun& planned : plan_) BALLAST_TRY_STATUS(materials_.get(planned.run));
    return {};
  }

  Status open_folder() {
    std::set<std::string> fingerprints;
    for (const PlannedRun& planned : plan_) {
      fingerprints.insert(fingerprint(planned.run, planned.seed));
    }
    if (options_.replaces_others) {
      BALLAST_TRY_STATUS(remove_other_runs(options_.folder, fingerprints));
    }
    BALLAST_TRY_STATUS(check_results_folder(options_.folder, spec_, fingerprints));
    BALLAST_TRY_STATUS(files::make_folder(runs_folder()));
    BALLAST_TRY_STATUS(files::write_text(options_.folder / "spec.toml", to_toml(spec_)));
    BALLAST_TRY_STATUS(find_finished());
    if (!options_.part.is_all()) return {};
    records::MetricsColumns columns{.has_why = options_.explains};
    for (const PlannedRun& planned : plan_) {
      BALLAST_TRY(const auto attack, assembly::make_run_attack(planned.run));
      columns.has_back_door |= attack != nullptr && attack->trigger().has_value();
    }
    for (const auto& [key, value] : plan_.front().settings) columns.keys.push_back(key);
    BALLAST_TRY(auto writer, records::MetricsWriter::create(options_.folder / "metrics.csv",
                                                            std::move(columns), done()));
    metrics_.emplace(std::move(writer));
    return {};
  }

  // Takes over the runs that this folder holds, and copies of those that the others hold, under
  // the names they have now.
  Status find_finished() {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      places[fingerprint(plan_[i].run, plan_[i].seed)] = i;
    }
    BALLAST_TRY_STATUS(take_over(runs_folder(), places));
    for (const fs::path& folder : options_.other_folders) {
      const std::vector<std::size_t> taken = missing();
      BALLAST_TRY_STATUS(take_over(folder / "runs", places));
      for (const std::size_t i : taken) {
        if (!records_[i]) continue;
        BALLAST_TRY_STATUS(records::write_run_file(runs_folder(), *records_[i]));
        BALLAST_TRY_STATUS(records::write_event_file(options_.folder / "tensorboard", *records_[i],
                                                     options_.wall_time()));
      }
    }
    return {};
  }

  Status take_over(const fs::path& folder, const std::map<std::string, std::size_t>& places) {
    std::set<std::string> fingerprints;
    for (const auto& [print, i] : places) {
      if (!records_[i]) fingerprints.insert(print);
    }
    BALLAST_TRY(auto found, records::load_finished_runs(folder, fingerprints));
    for (records::RunRecord& record : found) {
      const std::size_t i = places.at(record.fingerprint);
      if (keeps_model(i) && !fs::exists(model_path(i))) continue;
      if (options_.explains && !is_explained(record)) continue;
      record.run = plan_[i].name;
      record.panel = plan_[i].panel;
      record.curve = plan_[i].curve;
      record.settings = plan_[i].settings;
      records_[i] = std::move(record);
    }
    return {};
  }

  static bool is_explained(const records::RunRecord& record) {
    return std::ranges::all_of(record.evaluations, [](const auto& e) { return e.why.has_value(); });
  }

  std::vector<std::size_t> missing() const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!records_[i] && is_mine(i)) places.push_back(i);
    }
    return places;
  }

  bool is_mine(std::size_t i) const { return i % options_.part.count == options_.part.number - 1; }

  // Of the part.
  std::vector<records::RunRecord> done() const {
    std::vector<records::RunRecord> records;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (records_[i] && is_mine(i)) records.push_back(*records_[i]);
    }
    return records;
  }

  void tell_start() const {
    std::uint64_t updates = 0;
    for (const std::size_t i : missing()) updates += plan_[i].run.updates;
    options_.on_start(updates, done().size());
  }

  // As many runs at a time as there are threads; what is left over goes to the runs.
  void run_open() {
    open_ = missing();
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
      give_freed_memory_back();
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
    BALLAST_TRY(const assembly::Material material, materials_.get(planned.run));
    BALLAST_TRY(FinishedRun finished,
                run_one(planned, material,
                        {.threads = threads,
                         .checkpoint_folder = checkpoint_folder(i),
                         .checkpoint_seconds = options_.checkpoint_seconds,
                         .explains = options_.explains,
                         .stop = &stop_,
                         .on_progress = [&](std::uint64_t updates) { tell_progress(updates); },
                         .on_resume = options_.on_resume,
                         .on_evaluation =
                             [&](const records::EvaluationRecord& evaluation) {
                               return note(planned, evaluation);
                             }}));
    if (finished.record.status != records::RunStatus::kInterrupted) {
      if (keeps_model(i)) {
        BALLAST_TRY_STATUS(assembly::write_model(
            model_path(i), *material.model, assembly::input_of(*material.data.train),
            {finished.model, finished.statistics}, {.run = planned.name, .seed = planned.seed}));
      }
      BALLAST_TRY_STATUS(records::write_run_file(runs_folder(), finished.record));
      BALLAST_TRY_STATUS(
          records::write_event_file(options_.folder / "tensorboard", finished.record, started));
      std::error_code ignored;  // what is left is in nobody's way
      fs::remove_all(checkpoint_folder(i), ignored);
    }
    const std::lock_guard lock(mutex_);
    if (warning_.empty()) warning_ = std::move(finished.warning);
    records_[i] = std::move(finished.record);
    return {};
  }

  Status note(const PlannedRun& planned, const records::EvaluationRecord& evaluation) {
    options_.on_evaluation(planned, evaluation);
    if (!metrics_) return {};
    return metrics_->append(row_of(planned, evaluation));
  }

  static records::MetricsRow row_of(const PlannedRun& planned,
                                    const records::EvaluationRecord& evaluation) {
    records::MetricsRow row{.run = planned.name, .seed = planned.seed, .evaluation = evaluation};
    for (const auto& [key, value] : planned.settings) row.values.push_back(value);
    return row;
  }

  Result<RunnerResult> finish() {
    RunnerResult result{.records = done(), .warning = warning_};
    result.is_complete = missing().empty() &&
                         std::ranges::none_of(result.records, [](const records::RunRecord& record) {
                           return record.status == records::RunStatus::kInterrupted;
                         });
    if (!options_.part.is_all()) return result;
    BALLAST_TRY_STATUS(records::write_metrics(options_.folder / "metrics.csv", result.records));
    BALLAST_TRY_STATUS(records::write_summary(options_.folder / "summary.json", result.records));
    if (records_[0] && records_[0]->status != records::RunStatus::kInterrupted) {
      BALLAST_TRY_STATUS(
          assembly::copy_model(model_path(0), options_.folder / "model.safetensors"));
    }
    if (!options_.draws || std::ranges::all_of(result.records, [](const records::RunRecord& r) {
          return r.evaluations.empty();
        }))
      return result;
    if (Status drawn = draw(result.records); !drawn) {
      if (!result.warning.empty()) result.warning += "; ";
      result.warning += fmt::format("no curves were drawn: {}", drawn.error().message);
    }
    return result;
  }

  Status draw(const std::vector<records::RunRecord>& records) const {
    const std::string& title = options_.title.empty() ? spec_.name : options_.title;
    BALLAST_TRY_STATUS(records::plot_curves(options_.folder, records, {.title = title}));
    if (!options_.explains) return {};
    return records::plot_why(options_.folder, records, {.stem = "why", .title = title});
  }

  const Spec& spec_;
  const RunnerOptions& options_;
  const Plan plan_;
  assembly::Materials own_materials_;
  assembly::Materials& materials_;
  std::vector<std::optional<records::RunRecord>> records_;
  std::optional<records::MetricsWriter> metrics_;
  std::vector<std::size_t> open_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
  std::string warning_;  // the first one
};

bool parse_count(std::string_view text, std::size_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Part> parse_part(std::string_view text) {
  const std::size_t slash = text.find('/');
  Part part;
  const bool is_pair = slash != std::string_view::npos &&
                       parse_count(text.substr(0, slash), part.number) &&
                       parse_count(text.substr(slash + 1), part.count);
  if (is_pair && part.number >= 1 && part.number <= part.count && part.count <= kRunsMax) {
    return part;
  }
  return invalid_argument(fmt::format(
      "--part {}: write it as 3/16, the third of sixteen parts; there are at most {} parts",
      assembly::to_printable(text), kRunsMax));
}

Result<RunnerResult> run_all(const Spec& spec, const RunnerOptions& options) {
  BALLAST_TRY(Plan plan, expand(spec));
  return Runner(spec, options, std::move(plan)).run();
}

}  // namespace ballast::experiment
