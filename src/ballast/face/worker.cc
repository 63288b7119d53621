#include "ballast/worker.h"

#include <utility>

#include "ballast/face/gradient_adapter.h"
#include "ballast/face/guard.h"
#include "ballast/worker/worker.h"

namespace ballast {

class Worker::Body {
 public:
  Body(std::unique_ptr<face::GradientAdapter> source, worker::Worker worker)
      : source_(std::move(source)), worker_(std::move(worker)), initial_(worker_.state()) {}

  Result<WorkerUpdate> update(std::span<const float> model) {
    BALLAST_TRY(const auto update, worker_.on_model({.version = 0, .values = model}));
    return WorkerUpdate{
        .values = update.values, .statistics = update.statistics, .loss = update.loss};
  }

  Status start_anew() { return worker_.restore(initial_); }

 private:
  std::unique_ptr<face::GradientAdapter> source_;
  worker::Worker worker_;
  worker::WorkerState initial_;
};

Result<Worker> Worker::make(const WorkerOptions& options, std::shared_ptr<GradientSource> source) {
  return face::guarded("the worker", [&]() -> Result<Worker> {
    BALLAST_TRY(auto adapter, face::GradientAdapter::make(std::move(source)));
    BALLAST_TRY(auto worker,
                worker::Worker::make({.seed = options.seed,
                                      .id = options.number,
                                      .estimator = face::estimator_of(options.optimizer)},
                                     *adapter));
    return Worker(std::make_unique<Body>(std::move(adapter), std::move(worker)));
  });
}

Worker::Worker(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

Result<WorkerUpdate> Worker::update(std::span<const float> model) {
  if (body_ == nullptr) return face::moved_from("Worker");
  if (face::is_null(model)) return invalid_argument("the model is a null span");
  return face::guarded("update", [&] { return body_->update(model); });
}

Status Worker::start_anew() {
  if (body_ == nullptr) return face::moved_from("Worker");
  return body_->start_anew();
}

}  // namespace ballast
