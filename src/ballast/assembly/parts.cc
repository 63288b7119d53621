#include "ballast/assembly/parts.h"

#include <cstdlib>
#include <utility>

#include "ballast/attacks/registry.h"
#include "ballast/base/check.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"
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
  }
  std::abort();
}

}  // namespace

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
                                            const learn::Model& model,
                                            const server::AdmissionOptions& admission,
                                            const ServerSetting& setting) {
  server::ServerOptions options{.worker_count = run.workers,
                                .statistic_count = model.initial_statistics().size(),
                                .reply = run.reply,
                                .admission = admission};
  if (run.staleness_max > 0) options.admission.staleness_max = run.staleness_max;
  // Table and optimizer share a backend, so that a direction is stepped along where it lies.
  BALLAST_TRY(const std::shared_ptr<const kernels::Backend> backend,
              kernels::make_backend(run.device, setting.threads));
  BALLAST_TRY(auto optimizer, make_optimizer(run, backend, model.initial_parameters(seed)));
  BALLAST_TRY(auto rule, robust::parse_rule(run.rule));
  BALLAST_TRY(auto method, server::make_table_method({.worker_count = run.workers,
                                                      .dim = optimizer->model()->size(),
                                                      .weights = weight_policy(run),
                                                      .rows_min = setting.rows_min,
                                                      .seed = seed},
                                                     std::move(rule), backend));
  return server::ParameterServer::make(
      options, {.method = std::move(method), .optimizer = std::move(optimizer)});
}

Result<learn::TrainingData> training_data(const RunSpec& run, std::uint64_t seed,
                                          const DataPair& data) {
  BALLAST_TRY(auto partition, make_partition(run, seed, *data.train));
  return learn::TrainingData{
      .dataset = data.train,
      .partition = std::make_shared<const data::Partition>(std::move(partition)),
      .augmentation = run.augment ? data.augmentation : data::Augmentation{},
      .batch = run.batch};
}

Result<attacks::AttackPointer> make_run_attack(const RunSpec& run) {
  if (run.byzantine == 0) return nullptr;
  return attacks::make_attack(run.attack);
}

Result<std::vector<sim::Arrival>> make_arrivals(const RunSpec& run, std::uint64_t seed) {
  BALLAST_TRY(const sim::ArrivalPattern arrivals, sim::parse_arrivals(run.arrivals));
  if (run.clock == Clock::kVirtual) {
    BALLAST_TRY(const sim::ComputeTime time, sim::parse_compute_time(run.compute_time));
    return sim::draw_arrivals(sim::VirtualTimeOptions{.workers = population(run),
                                                      .speed = arrivals.kind,
                                                      .distribution = time.distribution,
                                                      .sigma = time.sigma,
                                                      .share = run.share,
                                                      .seed = seed},
                              run.updates);
  }
  sim::ScheduleOptions options{.kind = arrivals.kind,
                               .workers = population(run),
                               .share = run.share,
                               .seed = seed,
                               .burst_length = arrivals.burst_length};
  if (arrivals.kind == sim::ScheduleKind::kTrace) {
    BALLAST_TRY(options.trace, sim::read_trace(run.trace, run.workers));
  }
  return sim::draw_arrivals(options, run.updates);
}

}  // namespace ballast::assembly
