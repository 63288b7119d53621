#include "ballast/face/training.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "ballast/face/backend.h"
#include "ballast/face/guard.h"
#include "ballast/methods/registry.h"
#include "ballast/server/weight_policy.h"

namespace ballast {

std::string name_of(Verdict verdict) {
  const auto number = static_cast<std::size_t>(verdict);
  if (number >= server::kVerdictCount) return "unknown";
  return std::string(server::name(static_cast<server::Verdict>(verdict)));
}

namespace face {
namespace {

// A schedule that throws makes a step that is not finite, which is not taken.
optim::RateSchedule schedule_of(const Optimizer& optimizer) {
  if (!optimizer.schedule) return optim::constant_schedule();
  return [schedule = optimizer.schedule](std::uint64_t step) noexcept {
    try {
      return schedule(step);
    } catch (...) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  };
}

using OptimizerPointer = optim::ServerOptimizerPointer<float>;
using BackendPointer = std::shared_ptr<const kernels::Backend>;

Result<OptimizerPointer> make_optimizer(const Optimizer& optimizer, BackendPointer backend,
                                        std::vector<float> start) {
  optim::StepOptions options{
      .eta = optimizer.eta, .schedule = schedule_of(optimizer), .backend = std::move(backend)};
  if (optimizer.radius) options.projection = optim::Ball{.radius = *optimizer.radius};
  if (optimizer.kind != OptimizerKind::kMu2) {
    return optim::make_sgd_server<float>(options, std::move(start));
  }
  optim::Averaging averaging = optim::LinearAverage{};
  if (!optimizer.is_theory) averaging = optim::ConstantAverage{.gamma = optimizer.gamma};
  return optim::make_mu2_server<float>(options, averaging, std::move(start));
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): it loses track of std::function
}

Result<server::MethodPointer> make_named(std::size_t worker_count, const Training& training,
                                         BackendPointer backend) {
  BALLAST_TRY(const methods::MethodPlan plan,
              methods::method_registry().parse(training.named_method));
  methods::MethodSetting setting{.worker_count = worker_count,
                                 .dim = training.start.size(),
                                 .eta = training.optimizer.eta,
                                 .seed = training.seed,
                                 .backend = std::move(backend),
                                 .rule = training.rule};
  if (plan.uses_rule) {
    BALLAST_TRY(setting.weights, server::parse_weight_policy(training.weights));
  }
  if (plan.needs_momentum && training.optimizer.kind != OptimizerKind::kMomentum) {
    return invalid_argument(
        fmt::format("{} needs workers that send updates with momentum", training.named_method));
  }
  return methods::make_method(training.named_method, std::move(setting));
}

}  // namespace

Result<MadeServer> make_server(std::size_t worker_count, Training training,
                               server::AdmissionOptions admission) {
  if (worker_count == 0 || worker_count > kRowsMax) {
    return invalid_argument(
        fmt::format("{} workers; there can be 1 to {}", worker_count, kRowsMax));
  }
  if (training.start.empty()) return invalid_argument("the first model is empty");
  if (training.statistic_count > kValuesMax) return invalid_argument("too many statistics");
  BALLAST_TRY(BackendPointer backend, make_backend(training.compute));
  const MethodAdapter* own_method = nullptr;
  server::MethodPointer method;
  if (training.method != nullptr) {
    auto adapter =
        std::make_unique<MethodAdapter>(std::move(training.method), training.start.size());
    BALLAST_TRY_STATUS(adapter->fault());
    own_method = adapter.get();
    method = std::move(adapter);
  } else {
    BALLAST_TRY(method, make_named(worker_count, training, backend));
  }
  admission.staleness_max = training.staleness_max;
  BALLAST_TRY(auto optimizer,
              make_optimizer(training.optimizer, std::move(backend), std::move(training.start)));
  BALLAST_TRY(auto server,
              server::ParameterServer::make({.worker_count = worker_count,
                                             .statistic_count = training.statistic_count,
                                             .admission = std::move(admission)},
                                            {std::move(method), std::move(optimizer)}));
  return MadeServer{.server = std::move(server), .own_method = own_method};
}

Result<server::MethodPointer> make_preview_method(std::size_t worker_count,
                                                  const Training& training) {
  if (training.method != nullptr) {
    return unsupported(
        "the attack needs a copy of the server's method, and yours cannot be copied");
  }
  if (worker_count > kRowsMax || training.start.empty()) {
    return invalid_argument("the first model is empty, or there are too many workers");
  }
  BALLAST_TRY(BackendPointer backend, make_backend(training.compute));
  return make_named(worker_count, training, std::move(backend));
}

Snapshot public_snapshot(const server::Snapshot& snapshot) {
  return {.version = snapshot.version, .values = snapshot.values};
}

Verdict public_verdict(server::Verdict verdict) noexcept {
  static_assert(static_cast<std::size_t>(Verdict::kFiltered) + 1 == server::kVerdictCount);
  static_assert(static_cast<int>(Verdict::kFiltered) ==
                static_cast<int>(server::Verdict::kFiltered));
  static_assert(static_cast<int>(Verdict::kStale) == static_cast<int>(server::Verdict::kStale));
  return static_cast<Verdict>(verdict);
}

WorkerFacts facts_of(const server::WorkerRecord& record) {
  return {.count = record.count,
          .lifetime_count = record.lifetime_count,
          .weight = static_cast<double>(record.weight) / server::kWeightUnits,
          .kept = record.kept,
          .staleness = record.staleness};
}

}  // namespace face
}  // namespace ballast
