// A simulated cluster whose workers compute in Python and keep their vectors where the server's
// table is: for models on a CUDA device. ballast/_device_run.py drives it: it computes each update
// as soon as its worker has a model, so that no model need be kept for later, and delivers it when
// the list of arrivals says so. The server, the arrivals, the partition and the batches are those
// of every other run; what an attack does to an update is up to Python, which refuses those that
// need host memory.

#include <fmt/core.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "ballast/assembly/parts.h"
#include "ballast/experiment/grid.h"
#include "ballast/experiment/spec.h"
#include "ballast/kernels/finite.h"
#include "ballast/learn/batches.h"
#include "python/src/arrays.h"
#include "python/src/calls.h"
#include "python/src/errors.h"
#include "python/src/modules.h"
#include "python/src/place.h"
#include "python/src/python_model.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

experiment::PlannedRun planned_run(const std::string& text) {
  auto plan = value_or_raise(
      experiment::expand(value_or_raise(experiment::parse_spec(text, "simulation"))));
  if (plan.size() != 1) raise_invalid("a simulation is one run");
  return std::move(plan.front());
}

class ClusterHandle {
 public:
  ClusterHandle(const std::string& text, const Values& parameters, const Values& statistics,
                std::size_t samples, std::vector<int> labels, int class_count)
      : planned_(planned_run(text)),
        place_(find_place(planned_.run.device, 1)),
        workers_(assembly::population(planned_.run)),
        tickets_(planned_.run.workers),
        arrivals_left_(planned_.run.workers) {
    const assembly::RunSpec& run = planned_.run;
    if (run.method != "table") raise_invalid("the cluster's method is that of the table");
    const PythonModel model({.initial_parameters = copy_of(parameters),
                             .initial_statistics = copy_of(statistics),
                             .class_count = class_count},
                            nullptr);
    std::optional<Result<server::ParameterServer>> server;
    run_at(place_, 0, [&] {
      server = assembly::make_server(run, planned_.seed, model, {}, {.shows_models = false});
    });
    server_.emplace(value_or_raise(*std::move(server)));
    const auto dataset = value_or_raise(stand_in(samples, std::move(labels), class_count));
    const auto training = value_or_raise(
        assembly::training_data(run, planned_.seed, {.train = dataset, .test = dataset}));
    batches_.emplace(
        value_or_raise(learn::Batches::make(training, dataset->shape(), dataset->class_count())));
    make_label_map(class_count);
    arrivals_ = value_or_raise(assembly::make_arrivals(run, planned_.seed));
    for (const sim::Arrival& arrival : arrivals_) ++arrivals_left_[arrival.worker];
  }

  ~ClusterHandle() {
    if (delivery_ == nullptr) return;
    const bool is_here = delivery_->process == getpid();
    if (is_here) delivery_->started->thread.join();
    if (!is_here) (void)delivery_.release();  // nor is its thread, which nobody can wait for
  }
  ClusterHandle(const ClusterHandle&) = delete;
  ClusterHandle& operator=(const ClusterHandle&) = delete;

  std::size_t workers() const { return workers_.total(); }
  std::size_t dim() const { return server_->dim(); }
  std::size_t updates() const { return planned_.run.updates; }
  std::size_t evaluate_every() const { return planned_.run.evaluate_every; }
  bool is_byzantine(std::uint32_t worker) const { return workers_.is_byzantine(worker); }

  // Whose update comes next; none after the last.
  std::optional<std::uint32_t> next() const {
    if (delivered_ == arrivals_.size()) return std::nullopt;
    return arrivals_[delivered_].worker;
  }

  // Whether an update of the worker is still to come.
  bool comes_again(std::uint32_t worker) const { return arrivals_left_.at(worker) > 0; }

  // The batch of the worker's k-th update, what its labels are taken for, and the seed of dropout.
  nb::tuple draw(std::uint32_t worker, std::uint64_t step) {
    const worker::Sample sample{.key = {.seed = planned_.seed, .worker = worker, .step = step},
                                .label_map = is_byzantine(worker) ? std::span<const int>(label_map_)
                                                                  : std::span<const int>()};
    raise_if_failed(batches_->draw(sample, drawn_));
    return nb::make_tuple(to_numpy(std::vector<std::uint32_t>(drawn_.indices)),
                          to_numpy(std::vector<int>(drawn_.labels)), forward_seed(sample.key));
  }

  // keep_k of the worker's k-th update, and whether that needs the gradient at the model before.
  nb::tuple correction(std::uint64_t step) const {
    const auto correction = optim::correction_at(assembly::estimator_options(planned_.run), step);
    return nb::make_tuple(correction.keep, correction.needs_previous_gradient);
  }

  // The estimator's correction, in place of the gradient:
  // gradient + keep * (before - reference). On a device it is queued on the stream; the one value
  // of `mark` becomes NaN if the result is not finite. May be called while an update is delivered.
  void correct(const nb::object& gradient, const nb::object& before, const nb::object& reference,
               double keep, const nb::object& mark, Stream stream) const {
    const WriteArray to = write_array(gradient, place_), flag = write_array(mark, place_);
    const WriteArray last = write_array(before, place_), there = write_array(reference, place_);
    const kernels::Backend& backend = *place_.backend;
    const auto next = backend.view(room_for_model(to)), old = backend.view(room_for_model(last)),
               at = backend.view(room_for_model(there)), found = backend.view(vector_of(flag));
    if (found->size() != 1) raise_invalid("a mark is one value");
    const auto work = [&] {
      backend.correct({*next, *old, *at}, keep, *next, *found, handle_of(stream));
    };
    if (place_.is_cuda) return work();  // which only queues it
    without_lock(work);
  }

  // The worker comes, and its first model goes to `model`.
  void join(std::uint32_t worker, const nb::object& model, Stream stream) {
    check_idle();
    const WriteArray array = write_array(model, place_);
    const std::span<float> values = room_for_model(array);
    run_at(place_, stream, [&] {
      assign(worker, server_->on_join(worker));
      server_->read_model(values);
    });
  }

  // Begins to deliver the update of the worker that comes next, on a thread of its own: the caller
  // queues another worker's gradients meanwhile. Its next model goes to `model`. `report` is in
  // host memory and has the worker's statistics and one more number, which is finite if the update
  // is; the thread looks at it when the event is reached. What is given is held until
  // end_delivery().
  void begin_delivery(const nb::object& update, const Values& report, const nb::object& model,
                      std::uintptr_t event, Stream stream) {
    check_idle();
    const std::optional<std::uint32_t> worker = next();
    if (!worker) raise_invalid("no update is to come any more");
    if (report.shape(0) == 0) raise_invalid("a report has one number at least");
    auto delivery = std::make_unique<Delivery>();
    delivery->update = read_array(update, place_);
    delivery->report = report;
    delivery->model = write_array(model, place_);
    delivery->event = handle_of(event);
    delivery->stream = stream;
    delivery->worker = *worker;
    delivery->values = vector_of(delivery->update);
    delivery->reply = room_for_model(delivery->model);
    delivery->work = [this, &it = *delivery] { deliver(it); };
    delivery->started.emplace(delivery->work);
    delivery_ = std::move(delivery);
  }

  // Waits for the delivery that was begun; what became of it. An update that was not finite has not
  // reached the server.
  nb::dict end_delivery() {
    if (delivery_ == nullptr) raise_invalid("no delivery has begun");
    const std::unique_ptr<Delivery> ended = wait_for_delivery();
    ended->started->ended.get();
    nb::dict told;
    told["is_finite"] = ended->is_finite;
    if (!ended->is_finite) return told;
    ++delivered_;
    --arrivals_left_[ended->worker];
    told["is_accepted"] = ended->outcome.verdict == server::Verdict::kAccepted;
    told["has_diverged"] = ended->outcome.has_diverged;
    told["staleness"] = ended->outcome.staleness;
    return told;
  }

  // Waits for a delivery whose outcome nobody wants any more, if there is one.
  void abandon_delivery() {
    if (delivery_ != nullptr) wait_for_delivery();
  }

  void read_model(const nb::object& model, Stream stream) {
    check_idle();
    const WriteArray array = write_array(model, place_);
    const std::span<float> values = room_for_model(array);
    run_at(place_, stream, [&] { server_->read_model(values); });
  }

  // The workers' statistics combined; none before the first update.
  nb::object statistics() const {
    check_idle();
    auto combined = server_->statistics();
    return combined ? to_numpy(*std::move(combined)) : nb::none();
  }

  nb::dict settings() const {
    nb::dict run;
    run["run"] = planned_.name;
    run["panel"] = planned_.panel;
    run["curve"] = planned_.curve;
    run["seed"] = planned_.seed;
    nb::dict settings;
    for (const auto& [key, value] : planned_.settings) settings[key.c_str()] = value;
    run["settings"] = settings;
    return run;
  }

 private:
  using Instant = server::Instant;

  // One that is under way, and what the interpreter keeps for it.
  struct Delivery {
    ReadArray update;
    Values report;
    WriteArray model;
    void* event = nullptr;
    Stream stream = 0;
    std::uint32_t worker = 0;
    std::span<const float> values;
    std::span<float> reply;
    pid_t process = getpid();
    bool is_finite = false;
    server::Outcome outcome;
    std::function<void()> work;
    std::optional<Started> started;
  };

  // On the delivery's own thread, which alone uses the server and the tickets until it is waited
  // for.
  void deliver(Delivery& it) {
    place_.backend->wait_for(it.event);
    const std::span report(it.report.data(), it.report.shape(0));
    it.is_finite = kernels::all_finite(report);
    if (!it.is_finite) return;
    const server::Update arriving{.worker = it.worker,
                                  .ticket = tickets_[it.worker],
                                  .values = it.values,
                                  .statistics = report.first(report.size() - 1),
                                  .is_checked = true};
    const bool replies_with_newest = planned_.run.reply == server::Reply::kNewest;
    at_place(place_, it.stream, [&] {
      if (!replies_with_newest) server_->read_model(it.reply);
      const server::Judgement judgement = server_->on_update(arriving, arrivals_[delivered_].at);
      if (replies_with_newest) server_->read_model(it.reply);
      it.outcome = judgement.outcome;
      assign(it.worker, judgement.next);
    });
  }

  std::unique_ptr<Delivery> wait_for_delivery() {
    if (delivery_->process != getpid()) {
      throw LibraryError{{ErrorCode::kUnsupported,
                          "this process was forked from one that trains, and cannot go on with it; "
                          "make a new simulation"}};
    }
    {
      const WithoutLock released;
      delivery_->started->thread.join();
    }
    return std::move(delivery_);
  }

  void check_idle() const {
    if (delivery_ != nullptr) raise_invalid("an update is being delivered");
  }

  void make_label_map(int class_count) {
    const auto attack = value_or_raise(assembly::make_run_attack(planned_.run));
    if (attack != nullptr) label_map_ = value_or_raise(attack->label_map(class_count));
  }

  std::span<float> room_for_model(const WriteArray& array) const {
    const std::span<float> values = vector_of(array);
    if (values.size() != dim()) {
      raise_invalid(fmt::format("a model has {} values, not {}", dim(), values.size()));
    }
    return values;
  }

  // A simulated server holds nobody.
  void assign(std::uint32_t worker, const std::optional<server::Assignment>& assignment) {
    BALLAST_CHECK(assignment.has_value(), "the arrivals are fixed, so nobody waits");
    tickets_[worker] = assignment->ticket;
  }

  experiment::PlannedRun planned_;
  Place place_;
  sim::Population workers_;
  std::vector<wire::Ticket> tickets_;
  std::vector<std::size_t> arrivals_left_;  // of each worker
  std::optional<server::ParameterServer> server_;
  std::optional<learn::Batches> batches_;
  learn::DrawnBatch drawn_;
  std::vector<int> label_map_;  // of the Byzantine workers
  std::vector<sim::Arrival> arrivals_;
  std::size_t delivered_ = 0;
  std::unique_ptr<Delivery> delivery_;  // that is under way
};

}  // namespace

void add_cluster(nb::module_& module) {
  nb::class_<ClusterHandle>(module, "Cluster")
      .def(nb::init<const std::string&, const Values&, const Values&, std::size_t, std::vector<int>,
                    int>(),
           nb::arg("text"), nb::arg("parameters"), nb::arg("statistics"), nb::arg("samples"),
           nb::arg("labels"), nb::arg("class_count"))
      .def_prop_ro("workers", &ClusterHandle::workers)
      .def_prop_ro("dim", &ClusterHandle::dim)
      .def_prop_ro("updates", &ClusterHandle::updates)
      .def_prop_ro("evaluate_every", &ClusterHandle::evaluate_every)
      .def("is_byzantine", &ClusterHandle::is_byzantine, nb::arg("worker"))
      .def("next", &ClusterHandle::next)
      .def("comes_again", &ClusterHandle::comes_again, nb::arg("worker"))
      .def("draw", &ClusterHandle::draw, nb::arg("worker"), nb::arg("step"))
      .def("correction", &ClusterHandle::correction, nb::arg("step"))
      .def("correct", &ClusterHandle::correct, nb::arg("gradient"), nb::arg("before"),
           nb::arg("reference"), nb::arg("keep"), nb::arg("mark"), nb::arg("stream"))
      .def("join", &ClusterHandle::join, nb::arg("worker"), nb::arg("model"), nb::arg("stream"))
      .def("begin_delivery", &ClusterHandle::begin_delivery, nb::arg("update"), nb::arg("report"),
           nb::arg("model"), nb::arg("event"), nb::arg("stream"))
      .def("end_delivery", &ClusterHandle::end_delivery)
      .def("abandon_delivery", &ClusterHandle::abandon_delivery)
      .def("read_model", &ClusterHandle::read_model, nb::arg("model"), nb::arg("stream"))
      .def("statistics", &ClusterHandle::statistics)
      .def("settings", &ClusterHandle::settings);
}

}  // namespace ballast::python
