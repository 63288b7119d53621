#include "ballast/assembly/parts.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "ballast/attacks/registry.h"
#include "ballast/base/check.h"
#include "ballast/base/parallel.h"
#include "ballast/kernels/backend.h"
#include "ballast/kernels/finite.h"
#include "ballast/methods/registry.h"
#include "ballast/sim/schedule.h"
#include "ballast/sim/trace.h"
#include "ballast/sim/virtual_time.h"

namespace ballast::assembly {
namespace {

optim::Projection projection(const RunSpec& run) {
  switch (run.projection) {
    case ProjectionKind::kNone:
      return optim::NoProjection{};
    case ProjectionKind::kBox:
      return optim::Box{.low = run.box_low, .high = run.box_high};
    case ProjectionKind::kBall:
      return optim::Ball{.radius = run.ball_radius};
  }
  std::abort();
}

Result<optim::StepOptions> step_options(const RunSpec& run) {
  optim::StepOptions options{.eta = run.eta, .projection = projection(run)};
  if (!run.eta_decay_after.empty()) {
    BALLAST_TRY(options.schedule,
                optim::step_decay({.factor = run.eta_decay_factor, .after = run.eta_decay_after}));
  }
  return options;
}

Result<optim::ServerOptimizerPointer<float>> make_optimizer(
    const RunSpec& run, std::shared_ptr<const kernels::Backend> backend, std::vector<float> start) {
  BALLAST_TRY(optim::StepOptions step, step_options(run));
  step.backend = std::move(backend);
  if (run.optimizer != Optimizer::kMu2) return optim::make_sgd_server(step, std::move(start));
  optim::Averaging averaging = optim::ConstantAverage{run.gamma};
  if (run.alpha == Alpha::kLinear) averaging = optim::LinearAverage{};
  return optim::make_mu2_server(step, averaging, std::move(start));
}

Result<data::Partition> make_partition(const RunSpec& run, std::uint64_t seed,
                                       const data::Dataset& train) {
  switch (run.partition) {
    case PartitionKind::kShared:
      return data::Partition::shared(train.size(), run.workers);
    case PartitionKind::kEven:
      return data::Partition::even_split(train.size(), run.workers, seed);
    case PartitionKind::kDirichlet:
      return data::Partition::dirichlet(
          train.labels(),
          {.worker_count = run.workers, .alpha = run.dirichlet_alpha, .seed = seed});
    case PartitionKind::kShards:
      return data::Partition::shards(
          train.labels(),
          {.worker_count = run.workers, .shards_per_worker = run.shards_per_worker, .seed = seed});
  }
  std::abort();
}

// Samples that no worker draws; their owner is numbered after the last worker.
class HeldOutGradient final : public server::ServerGradient {
 public:
  HeldOutGradient(std::unique_ptr<worker::GradientSource> source, std::uint64_t seed,
                  std::uint32_t owner)
      : source_(std::move(source)), seed_(seed), owner_(owner) {}

  Status gradient(std::span<const float> model, std::uint64_t draw, std::span<float> out) override {
    const worker::Sample sample{.key = {.seed = seed_, .worker = owner_, .step = draw}};
    BALLAST_TRY_STATUS(source_->gradient(model, sample, out, {}));
    if (kernels::all_finite(out)) return {};
    return not_finite("the server's own gradient is not finite");
  }

 private:
  std::unique_ptr<worker::GradientSource> source_;
  std::uint64_t seed_;
  std::uint32_t owner_;
};

class NoGradient final : public server::ServerGradient {
 public:
  Status gradient(std::span<const float>, std::uint64_t, std::span<float>) override {
    return unsupported("this server was made without data of its own");
  }
};

// Null where the method needs none.
Result<std::shared_ptr<server::ServerGradient>> make_server_gradient(const RunSpec& run,
                                                                     std::uint64_t seed,
                                                                     const Material& material) {
  BALLAST_TRY(const auto plan, methods::method_registry().parse(run.method));
  if (!plan.needs_server_gradient) return nullptr;
  BALLAST_TRY(learn::TrainingData training, training_data(run, seed, material.data));
  training.augmentation = {};
  training.batch = run.server_batch;
  BALLAST_TRY(auto source, material.model->make_source(training));
  return std::make_shared<HeldOutGradient>(std::move(source), seed,
                                           static_cast<std::uint32_t>(run.workers));
}

// What a server on a network has beside the workers of its specification.
struct MethodPlaces {
  std::size_t free = 0;
  std::size_t rows_min = 1;
};

Result<server::MethodPointer> make_method(const RunSpec& run, std::uint64_t seed, std::size_t dim,
                                          std::shared_ptr<const kernels::Backend> backend,
                                          std::shared_ptr<server::ServerGradient> gradient,
                                          const MethodPlaces& places = {}) {
  if (gradient == nullptr) gradient = std::make_shared<NoGradient>();
  return methods::make_method(run.method, {.worker_count = run.workers,
                                           .free_places = places.free,
                                           .dim = dim,
                                           .eta = run.eta,
                                           .seed = seed,
                                           .backend = std::move(backend),
                                           .server_gradient = std::move(gradient),
                                           .rule = run.rule,
                                           .weights = weight_policy(run),
                                           .rows_min = places.rows_min});
}

Result<server::ParameterServer> make_server_with(const RunSpec& run, std::uint64_t seed,
                                                 const learn::Model& model,
                                                 const server::AdmissionOptions& admission,
                                                 const ServerSetting& setting,
                                                 std::shared_ptr<server::ServerGradient> gradient) {
  server::ServerOptions options{.worker_count = run.workers,
                                .statistic_count = model.initial_statistics().size(),
                                .reply = run.reply,
                                .shows_models = setting.shows_models,
                                .admission = admission};
  if (run.staleness_max > 0) options.admission.staleness_max = run.staleness_max;
  // Table and optimizer share a backend, so that a direction is stepped along where it lies.
  const std::size_t threads =
      setting.threads > 0 ? setting.threads : server_threads(run.workers, model.dim());
  BALLAST_TRY(const std::shared_ptr<const kernels::Backend> backend,
              kernels::make_backend(run.device, threads));
  BALLAST_TRY(auto optimizer, make_optimizer(run, backend, model.initial_parameters(seed)));
  BALLAST_TRY(auto method,
              make_method(run, seed, optimizer->model()->size(), backend, std::move(gradient),
                          {.free = admission.free_places, .rows_min = setting.rows_min}));
  return server::ParameterServer::make(
      options, {.method = std::move(method), .optimizer = std::move(optimizer)});
}

}  // namespace

std::size_t server_threads(std::size_t workers, std::size_t dim) noexcept {
  constexpr std::size_t kValues = 8'000'000;  // that are read or written, for each thread
  constexpr std::size_t kOfTheStep = 3;       // vectors: the direction, the model, the next one
  return std::clamp<std::size_t>((workers + kOfTheStep) * dim / kValues, 1, hardware_threads());
}

server::WeightPolicy weight_policy(const RunSpec& run) {
  auto policy = server::parse_weight_policy(run.weights);
  BALLAST_CHECK(policy.has_value(), "a valid run has weights");
  return *std::move(policy);
}

sim::Population population(const RunSpec& run) {
  return {.honest = run.workers - run.byzantine, .byzantine = run.byzantine};
}

optim::EstimatorOptions estimator_options(const RunSpec& run) {
  switch (run.optimizer) {
    case Optimizer::kMu2:
      if (run.beta) return optim::Mu2Estimator{optim::ConstantBeta{*run.beta}};
      return optim::Mu2Estimator{optim::HarmonicBeta{}};
    case Optimizer::kMomentum:
      return optim::MomentumEstimator{.b = run.momentum};
    case Optimizer::kSgd:
      return optim::SgdEstimator{};
  }
  std::abort();
}

server::AdmissionOptions network_admission(const RunSpec& run) {
  server::AdmissionOptions options{.waits_for_use = true};
  const server::WeightPolicy weights = weight_policy(run);
  if (const auto* cap = server::widest_cap(weights)) options.lead.f = cap->f;
  return options;
}

Result<server::ParameterServer> make_server(const RunSpec& run, std::uint64_t seed,
                                            const Material& material,
                                            const server::AdmissionOptions& admission,
                                            const ServerSetting& setting) {
  BALLAST_TRY(auto gradient, make_server_gradient(run, seed, material));
  return make_server_with(run, seed, *material.model, admission, setting, std::move(gradient));
}

Result<server::ParameterServer> make_server(const RunSpec& run, std::uint64_t seed,
                                            const learn::Model& model,
                                            const server::AdmissionOptions& admission,
                                            const ServerSetting& setting) {
  return make_server_with(run, seed, model, admission, setting, nullptr);
}

Result<learn::TrainingData> training_data(const RunSpec& run, std::uint64_t seed,
                                          const DataPair& data) {
  BALLAST_TRY(auto partition, make_partition(run, seed, *data.train));
  if (run.server_samples > 0) {
    BALLAST_TRY(partition, partition.held_out(run.server_samples, seed));
  }
  return learn::TrainingData{
      .dataset = data.train,
      .partition = std::make_shared<const data::Partition>(std::move(partition)),
      .augmentation = run.augment ? data.augmentation : data::Augmentation{},
      .batch = run.batch};
}

Result<server::MethodPointer> make_preview_method(const RunSpec& run, std::uint64_t seed,
                                                  const Material& material,
                                                  const attacks::Attack* attack) {
  if (attack == nullptr || !attack->needs_preview()) return nullptr;
  BALLAST_TRY(auto gradient, make_server_gradient(run, seed, material));
  BALLAST_TRY(std::shared_ptr<const kernels::Backend> backend,
              kernels::make_backend(run.device, 1));
  return make_method(run, seed, material.model->dim(), std::move(backend), std::move(gradient));
}

Result<attacks::AttackPointer> make_run_attack(const RunSpec& run) {
  if (run.byzantine == 0) return nullptr;
  return attacks::make_attack(run.attack);
}

Result<std::vector<sim::Arrival>> make_arrivals(const RunSpec& run, std::uint64_t seed) {
  BALLAST_TRY(const sim::ArrivalPattern arrivals, sim::parse_arrivals(run.arrivals));
  if (run.clock == Clock::kVirtual) {
    BALLAST_TRY(const sim::ComputeTime time, sim::parse_compute_time(run.compute_time));
    sim::VirtualTimeOptions options{.workers = population(run),
                                    .speed = arrivals.kind,
                                    .distribution = time.distribution,
                                    .sigma = time.sigma,
                                    .share = run.share,
                                    .seed = seed};
    if (arrivals.kind == sim::ScheduleKind::kFlood) {
      options.speed = sim::ScheduleKind::kUniform;
      options.byzantine_factor = arrivals.flood_rate;
    }
    return sim::draw_arrivals(options, run.updates);
  }
  sim::ScheduleOptions options{.kind = arrivals.kind,
                               .workers = population(run),
                               .share = run.share,
                               .seed = seed,
                               .burst_length = arrivals.burst_length,
                               .flood_rate = arrivals.flood_rate};
  if (arrivals.kind == sim::ScheduleKind::kTrace) {
    BALLAST_TRY(options.trace, sim::read_trace(run.trace, run.workers));
  }
  return sim::draw_arrivals(options, run.updates);
}

}  // namespace ballast::assembly
