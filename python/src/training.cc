// Trainings: a specification run natively, one run with a model of Python's, and a worker's state
// machine for whoever carries models and updates.

#include <fmt/core.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "ballast/assembly/parts.h"
#include "ballast/experiment/run.h"
#include "ballast/experiment/runner.h"
#include "ballast/kernels/finite.h"
#include "ballast/worker/worker.h"
#include "python/src/arrays.h"
#include "python/src/calls.h"
#include "python/src/errors.h"
#include "python/src/modules.h"
#include "python/src/python_model.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

experiment::Spec spec_of(const std::string& text, const std::string& file,
                         const std::vector<std::string>& overrides) {
  auto spec = value_or_raise(experiment::parse_spec(text, file));
  for (const std::string& assignment : overrides) {
    raise_if_failed(experiment::apply_override(spec, assignment));
  }
  return spec;
}

nb::dict to_dict(const records::EvaluationRecord& evaluation) {
  nb::dict row;
  row["t"] = evaluation.t;
  row["test_accuracy"] = evaluation.test_accuracy;
  row["test_loss"] = evaluation.test_loss;
  row["train_loss"] = evaluation.train_loss;
  row["byzantine_updates"] = evaluation.byzantine_updates;
  row["staleness_mean"] = evaluation.staleness_mean;
  row["staleness_max"] = evaluation.staleness_max;
  row["seconds"] = evaluation.seconds;
  if (evaluation.back_door) row["back_door"] = *evaluation.back_door;
  if (evaluation.why) {
    for (const records::ExplanationField& field : records::kExplanationFields) {
      row[nb::str(field.name.data(), field.name.size())] = (*evaluation.why).*field.member;
    }
  }
  return row;
}

const char* status_name(records::RunStatus status) {
  switch (status) {
    case records::RunStatus::kFinished:
      return "finished";
    case records::RunStatus::kInterrupted:
      return "interrupted";
    case records::RunStatus::kDiverged:
      return "diverged";
  }
  return "";
}

nb::dict to_dict(const records::RunRecord& record) {
  nb::dict run;
  run["run"] = record.run;
  run["panel"] = record.panel;
  run["curve"] = record.curve;
  run["seed"] = record.seed;
  run["status"] = status_name(record.status);
  run["gradient_seconds"] = record.gradient_seconds;
  run["total_seconds"] = record.total_seconds;
  nb::dict settings;
  for (const auto& [key, value] : record.settings) settings[key.c_str()] = value;
  run["settings"] = settings;
  nb::list rows;
  for (const auto& evaluation : record.evaluations) rows.append(to_dict(evaluation));
  run["evaluations"] = rows;
  return run;
}

// How Python hears of a run under way, and a run of Python: between two updates signals are looked
// for and the callback is told.
class Listener {
 public:
  Listener(nb::object on_progress, std::shared_ptr<Raised> raised)
      : on_progress_(std::move(on_progress)), raised_(std::move(raised)) {}

  // Called without the interpreter's lock.
  void tell(std::uint64_t updates) {
    const WithLock lock;
    if (stop_) return;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!on_progress_.is_none()) on_progress_(updates);
    } catch (...) {
      raised_->keep(std::current_exception());
      stop_ = true;
    }
  }

  std::atomic<bool>& stop() { return stop_; }

 private:
  nb::object on_progress_;
  std::shared_ptr<Raised> raised_;
  std::atomic<bool> stop_ = false;
};

// PyTorch and our LibTorch may be of different versions, which one process does not survive.
void refuse_torch(const std::vector<experiment::PlannedRun>& runs) {
  for (const experiment::PlannedRun& planned : runs) {
    if (planned.run.engine == assembly::Engine::kNative) continue;
    throw LibraryError{{ErrorCode::kUnsupported,
                        "train() runs the built-in models; a model of PyTorch's runs in "
                        "ballast.Simulation, or with the program 'ballast train'"}};
  }
}

nb::list train(const std::string& text, const std::string& file,
               const std::vector<std::string>& overrides, const std::string& folder,
               std::size_t threads, bool explains, bool replaces_others,
               const nb::object& on_progress) {
  const experiment::Spec spec = spec_of(text, file, overrides);
  const auto plan = value_or_raise(experiment::expand(spec));
  refuse_torch(plan);
  const auto raised = std::make_shared<Raised>();
  Listener listener(on_progress, raised);
  nb::list runs;
  assembly::Materials materials;
  if (!folder.empty()) {
    Result<experiment::RunnerResult> result;
    // Several threads tell of their runs, and the last of them need not be this one.
    interruptible(listener.stop(), [&] {
      result = experiment::run_all(
          spec, {.folder = folder,
                 .threads = threads,
                 .replaces_others = replaces_others,
                 .explains = explains,
                 .materials = &materials,
                 .stop = &listener.stop(),
                 .on_progress = [&](std::uint64_t updates) { listener.tell(updates); }});
    });
    raised->rethrow_if_any();
    for (const auto& record : value_or_raise(std::move(result)).records)
      runs.append(to_dict(record));
    return runs;
  }
  for (const experiment::PlannedRun& planned : plan) {
    Result<experiment::FinishedRun> finished;
    without_lock_listening(listener.stop(), [&] {
      const auto material = materials.get(planned.run);
      if (!material) {
        finished = tl::unexpected(material.error());
        return;
      }
      finished = experiment::run_one(
          planned, *material,
          {.threads = threads,
           .explains = explains,
           .stop = &listener.stop(),
           .on_progress = [&](std::uint64_t updates) { listener.tell(updates); }});
    });
    raised->rethrow_if_any();
    auto done = value_or_raise(std::move(finished));
    nb::dict run = to_dict(done.record);
    run["model"] = to_numpy(std::move(done.model));
    run["statistics"] = to_numpy(std::move(done.statistics));
    runs.append(run);
  }
  return runs;
}

std::uint64_t count_updates(const std::string& text, const std::string& file,
                            const std::vector<std::string>& overrides) {
  std::uint64_t updates = 0;
  for (const auto& run : value_or_raise(experiment::expand(spec_of(text, file, overrides)))) {
    updates += run.run.updates;
  }
  return updates;
}

nb::dict simulate(const std::string& text, const nb::callable& gradient,
                  const nb::callable& evaluate, const Values& parameters, const Values& statistics,
                  std::size_t samples, std::vector<int> labels, int class_count, bool explains,
                  const nb::object& on_progress) {
  const auto plan = value_or_raise(experiment::expand(spec_of(text, "simulation", {})));
  if (plan.size() != 1) raise_invalid("a simulation is one run");
  if (parameters.shape(0) == 0) raise_invalid("the model has no parameters");
  const auto start = copy_of(parameters);
  if (!kernels::all_finite(std::span<const float>(start))) {
    raise_invalid("the model's parameters hold a NaN or an infinity");
  }
  const auto dataset = value_or_raise(stand_in(samples, std::move(labels), class_count));
  const auto raised = std::make_shared<Raised>();
  const assembly::Material material{.data = {.train = dataset, .test = dataset},
                                    .model = std::make_shared<PythonModel>(
                                        PythonNetwork{.gradient = gradient,
                                                      .evaluate = evaluate,
                                                      .initial_parameters = start,
                                                      .initial_statistics = copy_of(statistics),
                                                      .class_count = class_count},
                                        raised)};
  Listener listener(on_progress, raised);
  Result<experiment::FinishedRun> finished;
  {
    const WithoutLock released;
    finished = experiment::run_one(
        plan.front(), material,
        {.threads = 1,
         .explains = explains,
         .stop = &listener.stop(),
         .on_progress = [&](std::uint64_t updates) { listener.tell(updates); }});
  }
  raised->rethrow_if_any();
  auto done = value_or_raise(std::move(finished));
  nb::dict run = to_dict(done.record);
  run["model"] = to_numpy(std::move(done.model));
  run["statistics"] = to_numpy(std::move(done.statistics));
  return run;
}

// A source without data of its own: the callable knows its sample.
class ClosureSource final : public worker::GradientSource {
 public:
  ClosureSource(nb::callable gradient, std::size_t dim, std::vector<float> statistics)
      : gradient_(std::move(gradient)), dim_(dim), statistics_(std::move(statistics)) {}

  std::size_t dim() const noexcept override { return dim_; }
  int class_count() const noexcept override { return 0; }
  std::span<const float> initial_statistics() const noexcept override { return statistics_; }

  Result<double> gradient(std::span<const float> model, const worker::Sample&, std::span<float> out,
                          std::span<float> statistics) override {
    const WithLock lock;
    try {
      return nb::cast<double>(
          gradient_(view(model), view(out), statistics.empty() ? nb::none() : view(statistics)));
    } catch (...) {
      return tl::unexpected(raised_.keep(std::current_exception()));
    }
  }

  Raised& raised() { return raised_; }

 private:
  template <typename T>
  static nb::object view(std::span<T> values) {
    using Value = std::remove_const_t<T>;
    return nb::ndarray<nb::numpy, Value, nb::ndim<1>>(const_cast<Value*>(values.data()),
                                                      {values.size()}, nb::handle())
        .cast(nb::rv_policy::reference);
  }

  nb::callable gradient_;
  std::size_t dim_;
  std::vector<float> statistics_;
  Raised raised_;
};

// The worker's half of an optimizer, for a training loop of the user's own.
class WorkerHandle {
 public:
  WorkerHandle(const nb::callable& gradient, std::size_t dim, const Values& statistics,
               const std::string& optimizer, std::optional<double> beta, double momentum)
      : source_(std::make_unique<ClosureSource>(gradient, dim, copy_of(statistics))) {
    if (dim == 0) raise_invalid("the model has no parameters");
    worker::WorkerOptions options;
    if (optimizer == "mu2") {
      options.estimator = optim::Mu2Estimator{};
      if (beta) {
        options.estimator = optim::Mu2Estimator{optim::ConstantBeta{*beta}};
      } else {
        options.estimator = optim::Mu2Estimator{optim::HarmonicBeta{}};
      }
    } else if (optimizer == "momentum") {
      options.estimator = optim::MomentumEstimator{.b = momentum};
    } else if (optimizer == "sgd") {
      options.estimator = optim::SgdEstimator{};
    } else {
      raise_invalid(
          fmt::format("there is no optimizer '{}'; there are mu2, momentum and sgd", optimizer));
    }
    options_ = options;
    start_afresh();
  }

  void start_afresh() { worker_.emplace(value_or_raise(worker::Worker::make(options_, *source_))); }

  nb::object on_model(std::uint64_t version, const Values& model) {
    auto update =
        worker_->on_model({.version = version, .values = std::span(model.data(), model.shape(0))});
    source_->raised().rethrow_if_any();
    const auto made = value_or_raise(std::move(update));
    return nb::make_tuple(
        to_numpy(std::vector<float>(made.values.begin(), made.values.end())),
        to_numpy(std::vector<float>(made.statistics.begin(), made.statistics.end())), made.loss);
  }

 private:
  std::unique_ptr<ClosureSource> source_;
  worker::WorkerOptions options_;
  std::optional<worker::Worker> worker_;
};

}  // namespace

void add_training(nb::module_& module) {
  module.def("train", &train, nb::arg("text"), nb::arg("file"), nb::arg("overrides"),
             nb::arg("folder"), nb::arg("threads"), nb::arg("explains"), nb::arg("replaces_others"),
             nb::arg("on_progress").none());
  module.def("count_updates", &count_updates, nb::arg("text"), nb::arg("file"),
             nb::arg("overrides"));
  module.def("simulate", &simulate, nb::arg("text"), nb::arg("gradient"), nb::arg("evaluate"),
             nb::arg("parameters"), nb::arg("statistics"), nb::arg("samples"), nb::arg("labels"),
             nb::arg("class_count"), nb::arg("explains"), nb::arg("on_progress").none());
  nb::class_<WorkerHandle>(module, "Worker")
      .def(nb::init<const nb::callable&, std::size_t, const Values&, const std::string&,
                    std::optional<double>, double>(),
           nb::arg("gradient"), nb::arg("dim"), nb::arg("statistics"), nb::arg("optimizer"),
           nb::arg("beta").none(), nb::arg("momentum"))
      .def("start_afresh", &WorkerHandle::start_afresh)
      .def("on_model", &WorkerHandle::on_model, nb::arg("version"), nb::arg("model"));
}

}  // namespace ballast::python
