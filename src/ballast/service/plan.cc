#include "ballast/service/plan.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/server/weight_policy.h"
#include "ballast/wire/schema.h"

namespace ballast::service {
namespace {

std::uint64_t hash_of_tensors(const learn::Model& model) {
  std::vector<wire::TensorSchema> tensors;
  for (const auto slots : {model.parameters(), model.statistics()}) {
    for (const learn::TensorSlot& slot : slots) {
      tensors.push_back({.name = slot.name, .shape = {slot.shape.begin(), slot.shape.end()}});
    }
  }
  return wire::schema_hash(tensors);
}

double count_of_runs(const experiment::Spec& spec) {
  double count = 1.0;
  if (!spec.panels.empty()) count *= static_cast<double>(spec.panels.size());
  if (!spec.curves.empty()) count *= static_cast<double>(spec.curves.size());
  for (const experiment::Axis& axis : spec.grid) count *= static_cast<double>(axis.choices.size());
  return count;
}

// The settings of the only panel, combination and curve become the base's own.
// Requires: count_of_runs(spec) == 1.
void flatten(experiment::Spec& spec) {
  const auto take = [&](const std::vector<experiment::Setting>& settings) {
    for (const experiment::Setting& setting : settings) {
      experiment::apply(setting, spec.base, spec.origins);
    }
  };
  for (const experiment::Variant& panel : spec.panels) take(panel.settings);
  for (const experiment::Axis& axis : spec.grid) take(axis.choices);
  for (const experiment::Variant& curve : spec.curves) take(curve.settings);
  spec.panels.clear();
  spec.grid.clear();
  spec.curves.clear();
  spec.claims.clear();
}

// Workers come when they come and lie when they like: what a specification says of that is for the
// simulator, and is neither checked nor part of what a resumed run must have in common.
void forget_simulation(assembly::RunSpec& run) {
  run.rule = assembly::resolve(run).rule;  // may name the share
  const assembly::RunSpec plain;
  run.byzantine = 0;
  run.share = 0.0;
  run.attack = plain.attack;
  run.arrivals = plain.arrivals;
  run.trace = plain.trace;
  run.clock = plain.clock;
  run.compute_time = plain.compute_time;
}

// What a network has instead of the simulator's defaults.
void set_network_defaults(experiment::Spec& spec) {
  const auto is_set = [&](std::string_view key) { return spec.origins.by_key.contains(key); };
  assembly::RunSpec& run = spec.base;
  if (!is_set("reply")) run.reply = assembly::Reply::kNewest;
  if (is_set("weights")) return;
  const server::CappedWeights cap{.f = 1, .share = 0.2};
  if (run.workers >= server::quorum(cap) + cap.f) run.weights = "f-cap(1, 0.2)";
}

}  // namespace

Result<experiment::PlannedRun> plan_run(experiment::Spec spec) {
  if (const double count = count_of_runs(spec); count != 1.0) {
    return invalid_argument(
        fmt::format("{} describes {:.0f} runs, but a server trains one; choose it with --set, or "
                    "leave out panels, grid and curves",
                    spec.name, count));
  }
  flatten(spec);
  set_network_defaults(spec);
  forget_simulation(spec.base);
  spec.seeds.resize(1);
  BALLAST_TRY(std::vector<experiment::PlannedRun> runs, experiment::expand(spec));
  return std::move(runs.front());
}

Result<Liars> plan_liars(experiment::Spec spec) {
  if (count_of_runs(spec) == 1.0) flatten(spec);
  Liars liars{.count = spec.base.byzantine, .run = std::move(spec.base)};
  if (liars.count >= liars.run.workers) {
    return invalid_argument(fmt::format("{} Byzantine of {} workers leave no honest one",
                                        liars.count, liars.run.workers));
  }
  return liars;
}

Result<Plan> make_plan(experiment::Spec spec) {
  Plan plan;
  BALLAST_TRY(plan.planned, plan_run(std::move(spec)));
  assembly::Materials materials;
  BALLAST_TRY(plan.material, materials.get(plan.run()));
  plan.schema_hash = hash_of_tensors(*plan.material.model);
  return plan;
}

std::vector<std::string> default_names(std::uint64_t worker_count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < worker_count; ++i) names.push_back(fmt::format("worker-{}", i));
  return names;
}

std::string configuration(const experiment::PlannedRun& planned) {
  assembly::RunSpec run = planned.run;
  run.updates = run.evaluate_every = run.workers = 1;
  run.device = "cpu";
  return experiment::fingerprint(run, planned.seed);
}

}  // namespace ballast::service
