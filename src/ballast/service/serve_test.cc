// Whole servers and workers in one process, over loopback.

#include "ballast/service/serve.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "ballast/assembly/model_file.h"
#include "ballast/learn/registry.h"
#include "ballast/service/http.h"
#include "ballast/service/run_folder.h"
#include "ballast/service/work.h"
#include "ballast/store/failpoint.h"
#include "ballast/store/inspect.h"

namespace ballast::service {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// Two clouds of points that a plane divides.
std::shared_ptr<const data::Dataset> clouds() {
  std::vector<float> features;
  std::vector<int> labels;
  for (int i = 0; i < 64; ++i) {
    labels.push_back(i % 2);
    for (int k = 0; k < 3; ++k) features.push_back((i % 2 == 0 ? 1.0f : -1.0f) + 0.01f * float(i));
  }
  return std::make_shared<const data::Dataset>(
      data::Dataset::from_features({.channels = 3}, features, labels, 2).value());
}

Plan plan_of(std::uint64_t updates, std::uint64_t workers = 1) {
  assembly::RunSpec run;
  run.data = "files";
  run.model = "softmax";
  run.workers = workers;
  run.byzantine = 0;
  run.share = 0.0;
  run.rule = "mean";
  run.reply = assembly::Reply::kNewest;
  run.updates = updates;
  run.evaluate_every = 10;
  const auto data = clouds();
  Plan plan;
  plan.planned = {.run = run, .seed = 1, .name = "test", .panel = "", .curve = ""};
  plan.material.data = {data, data};
  plan.material.model =
      learn::make_model({.name = "softmax", .input = data->shape(), .class_count = 2}).value();
  return plan;
}

// A model whose evaluations fail.
class Unevaluable final : public learn::Model {
 public:
  explicit Unevaluable(std::shared_ptr<const learn::Model> inner) : inner_(std::move(inner)) {}
  std::size_t dim() const noexcept override { return inner_->dim(); }
  std::span<const learn::TensorSlot> parameters() const noexcept override {
    return inner_->parameters();
  }
  std::span<const learn::TensorSlot> statistics() const noexcept override {
    return inner_->statistics();
  }
  std::vector<float> initial_parameters(std::uint64_t seed) const override {
    return inner_->initial_parameters(seed);
  }
  std::vector<float> initial_statistics() const override { return inner_->initial_statistics(); }
  Result<std::unique_ptr<worker::GradientSource>> make_source(
      const learn::TrainingData& training) const override {
    return inner_->make_source(training);
  }
  Result<std::unique_ptr<worker::Evaluator>> make_evaluator(
      std::shared_ptr<const data::Dataset>) const override {
    class Failing final : public worker::Evaluator {
      Result<worker::Evaluation> evaluate(std::span<const float>, std::span<const float>) override {
        return io_error("no memory left");
      }
    };
    return std::make_unique<Failing>();
  }

 private:
  std::shared_ptr<const learn::Model> inner_;
};

class Serve : public testing::Test {
 protected:
  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("ballast-serve-") +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override {
    for (std::thread& worker : workers_) worker.join();
    store::clear_failpoint();
    fs::remove_all(folder_);
  }

  ServeOptions options(const Plan& plan) {
    ServeOptions options{.state = folder_ / "state", .clock = now};
    options.events = [this](const Event& event) {
      if (on_event_) on_event_(event);
      const std::lock_guard lock(mutex_);
      names_.push_back(event.name);
    };
    options.on_listening = [this, &plan](Ports ports) {
      http_ = ports.http;
      for (std::uint32_t i = 0; i < plan.run().workers; ++i) {
        workers_.emplace_back([this, &plan, port = ports.server, i] {
          const auto done = work(plan, {.server = fmt::format("127.0.0.1:{}", port),
                                        .name = fmt::format("worker-{}", i),
                                        .number = i,
                                        .patience = std::chrono::seconds(10)});
          const std::lock_guard lock(mutex_);
          if (done) reports_.push_back(*done);
        });
      }
      return Status{};
    };
    return options;
  }

  void start_worker(const Plan& plan, std::string name, std::uint32_t number,
                    std::optional<std::uint64_t> updates_max = std::nullopt);

  std::uint16_t port_ = 0;
  std::vector<std::thread> workers_;
  std::function<void(const Event&)> on_event_;
  std::uint16_t http_ = 0;
  std::mutex mutex_;
  std::vector<std::string> names_;   // of the events
  std::vector<WorkReport> reports_;  // of the workers
};

TEST_F(Serve, AnEvaluationThatFailsLosesNoCheckpoint) {
  Plan plan = plan_of(25);
  plan.material.model = std::make_shared<Unevaluable>(plan.material.model);

  const auto report = serve(plan, options(plan));

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_complete);
  EXPECT_FALSE(report->status.evaluation);
  EXPECT_THAT(names_, Contains("evaluation-failed"));
  EXPECT_EQ(store::inspect(folder_ / "state")->generations[0].manifest->accepted_count, 25u);
}

TEST_F(Serve, TheModelComesOutOfTheServerAndOfItsFolder) {
  const Plan plan = plan_of(30);
  ServeOptions how = options(plan);
  how.model_out = folder_ / "model.safetensors";
  how.model_every = 10;

  const auto report = serve(plan, how);

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GE(std::ranges::count(names_, "model-written"), 1);
  const auto served = assembly::read_model(how.model_out, *plan.material.model);
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_EQ(served->metadata.at("updates"), "30");
  const auto exported = export_model(folder_ / "state", folder_ / "exported.safetensors");
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->accepted, 30u);
  EXPECT_EQ(
      assembly::read_model(folder_ / "exported.safetensors", *plan.material.model)->parameters,
      served->parameters);
  const auto evaluator = plan.material.model->make_evaluator(plan.material.data.test).value();
  EXPECT_EQ(evaluator->evaluate(served->parameters, served->statistics)->accuracy,
            report->status.evaluation->accuracy);
}

TEST_F(Serve, AStartThatFailsLeavesNothingThatBlocksTheNext) {
  const Plan plan = plan_of(5);
  const auto taken =
      HttpServer::start({.listen = "127.0.0.1:0"}, [](auto) { return HttpAnswer{}; }).value();
  ServeOptions how = options(plan);
  how.http = fmt::format("127.0.0.1:{}", taken->port());

  EXPECT_THAT(serve(plan, how).error().message, HasSubstr("cannot listen"));

  EXPECT_FALSE(fs::exists(folder_ / "state"));
  how.http.clear();
  EXPECT_TRUE(serve(plan, how));
}

TEST_F(Serve, WhatNoCheckpointHoldsIsNotAcknowledgedBeyondTheBound) {
  const Plan plan = plan_of(30);
  ServeOptions how = options(plan);
  how.checkpoints.every_updates = 3;
  how.unsaved_max = 5;
  how.http = "127.0.0.1:0";
  const auto fail_the_next_save = [] {
    store::set_failpoint(
        {.name = "sync", .hit = 1, .action = store::FailpointAction::kFail, .error = ENOSPC});
  };
  int failures = 0;
  std::string ready;
  std::string metrics;
  std::uint64_t unsaved = 0;
  on_event_ = [&](const Event& event) {
    if (event.name == "listening") fail_the_next_save();
    if (event.name == "not-acknowledging") {
      unsaved = std::get<std::uint64_t>(event.fields[0].value.any());
    }
    if (event.name != "checkpoint-failed") return;
    if (++failures < 4) return fail_the_next_save();
    const std::string address = fmt::format("127.0.0.1:{}", http_);
    ready = http_get(address, "/readyz").error().message;
    metrics = http_get(address, "/metrics").value();
  };

  const auto report = serve(plan, how);

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_complete);
  EXPECT_EQ(unsaved, 6u) << "five are acknowledged, and the sixth waits";
  EXPECT_THAT(ready, HasSubstr("503"));
  EXPECT_THAT(metrics, HasSubstr("ballast_is_acknowledging 0\n"));
  EXPECT_THAT(metrics, HasSubstr("ballast_updates_unsaved 6\n"));
  EXPECT_THAT(names_, Contains("acknowledging"));
  EXPECT_EQ(report->status.checkpoint_failures, 4u);
}

TEST_F(Serve, AFinishedRunThatIsResumedSaysSoAndWorkersGoHome) {
  const Plan plan = plan_of(10);
  ASSERT_TRUE(serve(plan, options(plan)));
  ServeOptions how = options(plan);
  how.is_resume = true;
  how.linger = std::chrono::seconds(2);

  const auto report = serve(plan, how);

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->was_complete);
  EXPECT_EQ(report->status.accepted, 10u);
  EXPECT_THAT(names_, Contains("already-complete"));
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_TRUE(reports_[1].is_over);
}

// Counts of a table: what the journal leads to, and what the checkpoint holds.
TEST_F(Serve, AWorkerThatLeavesIsInTheJournalSoThatAReplayLosesItsRowToo) {
  const Plan plan = plan_of(20);
  ServeOptions how = options(plan);
  how.checkpoints.every_updates = 1000;
  how.on_listening = [&](Ports ports) {
    workers_.emplace_back([&plan, port = ports.server] {
      WorkOptions work_options{.server = fmt::format("127.0.0.1:{}", port), .name = "worker-0"};
      work_options.updates_max = 3;
      EXPECT_TRUE(work(plan, work_options));
      work_options.updates_max.reset();
      EXPECT_TRUE(work(plan, work_options));
    });
    return Status{};
  };

  ASSERT_TRUE(serve(plan, how));

  double replayed = 0.0;
  int removals = 0;
  const auto journal = store::Journal::open_to_read(folder_ / "state").value();
  const auto records = journal.records().value();
  for (const store::JournalRecord& record : records) {
    const bool is_update = record.event == store::JournalEvent::kUpdate;
    replayed = is_update ? replayed + 1 : 0.0;
    removals += !is_update && record.t == 3 ? 1 : 0;
  }
  EXPECT_GE(removals, 1);
  const auto manifest = store::inspect(folder_ / "state")->generations[0].manifest.value();
  const auto counts = std::ranges::find(manifest.numbers, "counts", &server::NamedNumbers::name);
  ASSERT_NE(counts, manifest.numbers.end());
  EXPECT_EQ(counts->values[0], replayed);
  EXPECT_LT(replayed, 20.0);
}

// The thread of a worker that joins under this name and number.
void Serve::start_worker(const Plan& plan, std::string name, std::uint32_t number,
                         std::optional<std::uint64_t> updates_max) {
  workers_.emplace_back([this, &plan, name = std::move(name), number, updates_max] {
    const auto done = work(plan, {.server = fmt::format("127.0.0.1:{}", port_),
                                  .name = name,
                                  .number = number,
                                  .updates_max = updates_max,
                                  .patience = std::chrono::seconds(30)});
    EXPECT_TRUE(done) << done.error().message;
  });
}

TEST_F(Serve, AWorkerThatIsAddedToTheFileTakesPartAndKeepsItsNumberThroughAResume) {
  const Plan plan = plan_of(60, 2);
  ServeOptions how = options(plan);
  how.workers_file = folder_ / "workers";
  std::ofstream(how.workers_file) << "ada\nbob\n";
  how.on_listening = [&](Ports ports) {
    port_ = ports.server;
    std::ofstream(how.workers_file, std::ios::app) << "eve\n";
    return Status{};
  };
  on_event_ = [&](const Event& event) {
    if (event.name != "enrolled") return;
    for (std::uint32_t i = 0; i < 3; ++i)
      start_worker(plan, std::vector{"ada", "bob", "eve"}[i], i);
  };

  const auto report = serve(plan, how);

  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->status.workers.size(), 3u);
  EXPECT_EQ(report->status.workers[2].name, "eve");
  EXPECT_GT(report->status.workers[2].lifetime_count, 0u);
  EXPECT_EQ(report->status.places, 4u) << "two are free at the start";
  const auto manifest = store::read_newest_manifest(folder_ / "state").value();
  ASSERT_EQ(manifest.workers.size(), 3u);
  EXPECT_EQ(manifest.workers[2].name, "eve");

  // Fewer names do not take anybody's number away, and new ones come after.
  std::ofstream(how.workers_file) << "zoe\neve\n";
  how.is_resume = true;
  how.on_listening = [](Ports) { return Status{}; };
  on_event_ = {};
  const auto resumed = serve(plan, how);
  ASSERT_TRUE(resumed) << resumed.error().message;
  ASSERT_EQ(resumed->status.workers.size(), 4u);
  EXPECT_EQ(resumed->status.workers[2].name, "eve");
  EXPECT_EQ(resumed->status.workers[2].lifetime_count, report->status.workers[2].lifetime_count);
  EXPECT_EQ(resumed->status.workers[3].name, "zoe");
  const auto exported = export_model(folder_ / "state", folder_ / "model.safetensors");
  EXPECT_TRUE(exported) << exported.error().message;
}

TEST_F(Serve, ARunGoesOnWithMoreWorkersAndNotWithFewerPlaces) {
  Plan plan = plan_of(20, 2);
  ASSERT_TRUE(serve(plan, options(plan)));
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  plan = plan_of(40, 4);
  ServeOptions how = options(plan);
  how.is_resume = true;

  const auto report = serve(plan, how);

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_complete);
  ASSERT_EQ(report->status.workers.size(), 4u);
  EXPECT_EQ(report->status.workers[3].name, "worker-3");
  EXPECT_EQ(std::ranges::count(names_, "enrolled"), 2);
  plan = plan_of(40, 2);
  how.places = 3;
  EXPECT_THAT(serve(plan, how).error().message, HasSubstr("4 enrolled workers"));
  how.places = 0;
  const auto same = serve(plan, how);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->status.workers.size(), 4u) << "those of the run stay";
}

TEST_F(Serve, AFileThatNamesMoreThanThereArePlacesForIsSaidOnce) {
  const Plan plan = plan_of(1'000'000'000, 1);
  std::atomic<bool> stop = false;
  ServeOptions how = options(plan);
  how.workers_file = folder_ / "workers";
  how.places = 2;
  how.stop = &stop;
  std::ofstream(how.workers_file) << "ada\n";
  std::vector<std::string> lines;
  how.on_listening = [&](Ports) {
    std::ofstream(how.workers_file) << "ada\nbob\neve";
    return Status{};
  };
  on_event_ = [&](const Event& event) {
    if (event.name == "workers-file-unusable") std::ofstream(how.workers_file) << "bob\neve\n";
    if (event.name == "still-enrolled") stop = true;
  };

  const auto report = serve(plan, how);

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->status.workers.size(), 2u);
  for (const char* name : {"workers-file-unusable", "enrolled", "not-enrolled", "still-enrolled"}) {
    EXPECT_EQ(std::ranges::count(names_, name), 1) << name;
  }
}

// Nothing was accepted since the checkpoint, and yet a resume would bring the row back.
TEST_F(Serve, ARowThatLeftAfterTheLastUpdateStaysAwayAfterAResume) {
  const Plan plan = plan_of(1'000, 1);
  std::atomic<bool> stop = false;
  ServeOptions how = options(plan);
  how.checkpoints.every_updates = 1;
  how.stop = &stop;
  how.on_listening = [&](Ports ports) {
    port_ = ports.server;
    start_worker(plan, "worker-0", 0, 3);
    return Status{};
  };
  on_event_ = [&](const Event& event) {
    if (event.name == "left") stop = true;
  };

  ASSERT_TRUE(serve(plan, how));

  const auto manifest = store::read_newest_manifest(folder_ / "state").value();
  EXPECT_EQ(manifest.accepted_count, 3u);
  EXPECT_EQ(manifest.numbers[0].name, "counts");
  EXPECT_EQ(manifest.numbers[0].values[0], 0.0);
}

TEST_F(Serve, ARunThatItsLiarsCouldStopIsRefusedBeforeAnythingIsMade) {
  Plan plan = plan_of(10, 4);
  plan.planned.run.weights = "f-cap(1, 0.3)";
  EXPECT_THAT(serve(plan, options(plan)).error().message, HasSubstr("at least 5 workers"));
  EXPECT_FALSE(fs::exists(folder_ / "state"));
}

}  // namespace
}  // namespace ballast::service
