#include "ballast/verify/trial.h"

#include <memory>
#include <utility>

#include "ballast/kernels/backend.h"
#include "ballast/server/table_method.h"
#include "ballast/sim/cluster.h"
#include "ballast/sim/virtual_time.h"

namespace ballast::verify {
namespace {

Result<server::ParameterServer> make_server(const Problem& problem, const TrialOptions& options,
                                            const Components& components,
                                            std::span<StepObserver* const> watching) {
  const optim::StepOptions step{.eta = options.eta_factor * theory_eta(problem, options.updates),
                                .projection = problem.set()};
  BALLAST_TRY(auto optimizer,
              components.make_optimizer(step, optim::LinearAverage{}, problem.start()));
  BALLAST_TRY(auto rule, components.make_rule(options.rule));
  BALLAST_TRY(auto method,
              server::make_table_method({.worker_count = options.workers.total(),
                                         .dim = problem.dim(),
                                         .weights = components.choose_weights(options.weights),
                                         .seed = options.seed},
                                        std::move(rule), kernels::make_cpu_backend(1)));
  return server::ParameterServer::make(
      {.worker_count = options.workers.total(),
       .reply = components.choose_reply(server::Reply::kPaper)},
      {.method = std::move(method), .optimizer = watched(std::move(optimizer), watching)});
}

}  // namespace

double theory_eta(const Problem& problem, std::size_t updates) {
  return 1.0 / (4.0 * problem.constants().smoothness * static_cast<double>(updates));
}

Result<std::vector<sim::Arrival>> arrivals_of(const TrialOptions& options) {
  if (options.flood) {
    return sim::draw_arrivals(sim::VirtualTimeOptions{.workers = options.workers,
                                                      .speed = options.schedule,
                                                      .byzantine_factor = options.flood,
                                                      .seed = options.seed},
                              options.updates);
  }
  return sim::draw_arrivals(sim::ScheduleOptions{.kind = options.schedule,
                                                 .workers = options.workers,
                                                 .share = options.share,
                                                 .seed = options.seed},
                            options.updates);
}

Result<TrialResult> run_trial(Problem& problem, const TrialOptions& options,
                              const Components& components, const Watches& watches) {
  BALLAST_TRY(auto server, make_server(problem, options, components, watches.steps));
  BALLAST_TRY(const auto attack, components.make_attack(options.attack));
  BALLAST_TRY(auto arrivals, arrivals_of(options));
  arrivals = components.change_arrivals(std::move(arrivals), options.workers);
  std::vector<sim::Observer*> watching(watches.arrivals.begin(), watches.arrivals.end());
  worker::GradientSource* source = &problem;
  std::unique_ptr<SourceBetween> between;
  if (components.make_source) {
    between = components.make_source(problem);
    source = between.get();
    watching.push_back(between.get());
  }
  const std::vector<worker::GradientSource*> sources(options.workers.total(), source);
  BALLAST_TRY(
      [[maybe_unused]] const auto run,
      sim::run(
          {.workers = options.workers,
           .estimator = options.estimator,
           .seed = options.seed,
           .threads = 1},
          {.server = server, .sources = sources, .attack = attack.get(), .observers = watching},
          arrivals));
  return TrialResult{.excess = problem.excess(*server.model().values),
                     .model = *server.model().values,
                     .arrivals = std::move(arrivals)};
}

}  // namespace ballast::verify
