#include "ballast/service/plan.h"

#include <fmt/core.h>

#include <span>
#include <utility>

#include "ballast/store/checksum.h"
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

}  // namespace

Result<experiment::PlannedRun> plan_run(experiment::Spec spec) {
  if (!spec.origins.by_key.contains("reply")) spec.base.reply = experiment::Reply::kNewest;
  spec.seeds.resize(1);
  BALLAST_TRY(std::vector<experiment::PlannedRun> runs, experiment::expand(spec));
  if (runs.size() != 1) {
    return invalid_argument(
        fmt::format("{} describes {} runs, but a server trains one; choose it with --set, or leave "
                    "out panels, grid and curves",
                    spec.name, runs.size()));
  }
  return std::move(runs.front());
}

Result<Plan> make_plan(experiment::Spec spec) {
  Plan plan;
  BALLAST_TRY(plan.planned, plan_run(std::move(spec)));
  experiment::Materials materials;
  BALLAST_TRY(plan.material, materials.get(plan.run()));
  plan.schema_hash = hash_of_tensors(*plan.material.model);
  return plan;
}

std::vector<std::string> default_names(std::uint64_t worker_count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < worker_count; ++i) names.push_back(fmt::format("worker-{}", i));
  return names;
}

std::string configuration(const experiment::PlannedRun& planned,
                          const std::vector<std::string>& names) {
  experiment::RunSpec run = planned.run;
  run.updates = run.evaluate_every = 1;
  std::string all;
  for (const std::string& name : names) all += name + '\n';
  return fmt::format("{}-{}", experiment::fingerprint(run, planned.seed),
                     store::checksum_text(std::as_bytes(std::span(all))));
}

}  // namespace ballast::service
